#pragma once
// Reads a file of JSON values that span lines or are in an array. Each value is one record. Its line feeds
// become spaces, so that it can be written as one line.

#include <vector>

#include "files/read/buffered_reader.h"
#include "files/read/json_splitter.h"

namespace doppel {

class ValueReader final : public BufferedReader {
 public:
  // Reads `file` from `mark` on (its `tail` is 1 inside an array); the file descriptor is at the start of
  // the file. All references must outlive the reader. A file that ends inside a value or an array is a
  // Problem that says where; the values before it have been handed out.
  ValueReader(const FilesSourceOptions& options, Filling& filling, const InputFile& file, Fd fd,
              ByteCounter counter, LineMark mark);

  State take(Batch& batch) override;

 private:
  bool value(Batch& batch);
  State end(Batch& batch);
  void refill(Batch& batch);
  uint64_t lines_before(uint64_t offset);

  JsonSplitter splitter_;
  size_t scanned_ = 0;     // end of the examined bytes in the buffer
  uint64_t offset_ = 0;    // offset of scanned_ in the file
  uint64_t value_at_ = 0;  // offset of the open value in the file
  uint64_t value_line_ = 0;
  uint64_t skipped_ = 0;             // bytes of an overlong value that were already discarded
  std::vector<uint64_t> line_ends_;  // offsets in the file, of the last read
  size_t next_line_ = 0;             // first entry of line_ends_ that is not counted in lines_
  uint64_t lines_ = 0;               // lines counted so far
  bool complete_ = false;            // the open value has ended but was not handed out
};

}  // namespace doppel
