#pragma once
// Reads a file as records, one per line: fills a buffer, finds the line feeds with memchr and hands out
// views. Only a line that continues in the next buffer is copied, once, to the start of that buffer.

#include "files/read/buffered_reader.h"

namespace doppel {

class LineReader final : public BufferedReader {
 public:
  // Reads `file` from `mark` on; the file descriptor is at the start of the file. All references must
  // outlive the reader. If `live`, an uncompressed file may still grow, and an empty pipe is not waited
  // for: take() returns `waiting` for both.
  LineReader(const FilesSourceOptions& options, Filling& filling, const InputFile& file, Fd fd,
             ByteCounter counter, LineMark mark, bool live = false);

  State take(Batch& batch) override;
  void finish() override { live_ = false; }
  uint64_t open_bytes() const override;
  LineMark mark() const override;

 private:
  bool line(Batch& batch, size_t length, bool terminated);
  void refill(Batch& batch);
  bool waits(const Batch& batch);

  size_t scanned_ = 0;       // no line feed before this offset
  uint64_t skipped_ = 0;     // bytes of an overlong line that were already discarded
  uint64_t delivered_tail_;  // > 0: length of the first line when an earlier run delivered it
  bool live_;
  bool at_end_ = false;  // the last read returned nothing
};

}  // namespace doppel
