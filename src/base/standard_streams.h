#pragma once
// stdout and stderr of a command. Neither ever throws or kills: a full or closed stderr changes nothing, a
// full stdout is an error that the command ends with, and where nobody reads stdout any more the command ends
// as others do, by SIGPIPE, without a word.

#include <streambuf>
#include <string_view>

namespace doppel {

// First of all, before a file is opened: SIGPIPE comes back as an error of write(), and no file of ours gets
// the number of a standard stream that was closed.
void prepare_standard_streams();

// To stdout, through a buffer. Ends the process where nobody reads it. From one thread.
void write_out(std::string_view text);
void flush_out();

// To stderr at once.
void write_err(std::string_view text);

// Why stdout could not be written, as errno; 0: it could. Also for those who write to its descriptor.
int stdout_error();
void note_stdout_error(int error);

// As SIGPIPE would have done.
[[noreturn]] void end_as_closed();

// write_out() for those who want a stream.
class StdoutBuffer final : public std::streambuf {
 protected:
  int_type overflow(int_type c) override;
  std::streamsize xsputn(const char* text, std::streamsize n) override;
  int sync() override;
};

}  // namespace doppel
