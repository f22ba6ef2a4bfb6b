#pragma once
// Reads an mbox file: each message is one record, from the line "From NAME DATE" on. Its bytes are unchanged,
// so that the messages that are kept are an mbox file, too.

#include <cstddef>
#include <cstdint>

#include "files/read/line_reader.h"

namespace doppel {

class MboxReader final : public BufferedReader {
 public:
  // Reads `file` from `mark` on; the file descriptor is at the start of the file. All references must outlive
  // the reader. Bytes in front of the first message are a Problem that says where.
  MboxReader(const FilesSourceOptions& options, Filling& filling, const InputFile& file, Fd fd,
             ByteCounter counter, LineMark mark)
      : BufferedReader(options, filling, file, std::move(fd), std::move(counter), std::move(mark)) {}

  State take(Batch& batch) override;

 private:
  bool message(Batch& batch);
  State end(Batch& batch);
  void refill(Batch& batch);

  // The open message begins at begin_. All sizes are in bytes behind it.
  size_t scanned_ = 0;       // whole lines that were examined; they belong to the message
  size_t no_line_end_ = 0;   // no line feed between scanned_ and here
  uint64_t skipped_ = 0;     // bytes of an overlong message that were already discarded
  uint64_t lines_ = 0;       // of the message, up to scanned_
  bool in_message_ = false;  // else the bytes belong to no message
  bool complete_ = false;    // the message has ended but was not handed out
};

}  // namespace doppel
