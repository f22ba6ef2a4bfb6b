#pragma once
// What a command has of its process: stdout, stderr, and the signals that stop it. Writing to them never
// throws. If stderr is full or closed, its text is lost. If stdout is full, the command ends with an error.
// If the reader of stdout is gone, the command ends silently by SIGPIPE, as other programs do.

#include <streambuf>
#include <string_view>

namespace doppel {

// Call this first, before opening any file. A broken pipe becomes an error of write() instead of SIGPIPE, and
// no file of ours gets the number of a closed standard stream.
void prepare_standard_streams();

// Writes to stdout through a buffer. Ends the process by SIGPIPE if the reader is gone. Call from one thread
// only.
void write_out(std::string_view text);
void flush_out();

// Writes to stderr, unbuffered.
void write_err(std::string_view text);

// The errno of the first failed write to stdout; 0: none failed. Code that writes to its descriptor directly
// reports errors with note_stdout_error().
int stdout_error();
void note_stdout_error(int error);

// Ends the process as SIGPIPE would.
[[noreturn]] void end_as_closed();

// write_out() as a stream buffer.
class StdoutBuffer final : public std::streambuf {
 protected:
  int_type overflow(int_type c) override;
  std::streamsize xsputn(const char* text, std::streamsize n) override;
  int sync() override;
};

// SIGTERM and SIGINT ask a command to stop in an orderly way. The command polls stop_asked(). Call this first
// in a command, before slow work and before other threads start: an earlier signal kills the process. A
// second signal ends the process at once with `second_code`. Unblocks both signals, whatever the parent
// process did. Also turns SIGXFSZ into an error of write().
void catch_stop_signals(int second_code);

// Whether a signal came since then.
bool stop_asked();

}  // namespace doppel
