#pragma once
// Reads a file of JSON values that span lines or are in an array. Each value is one record. Its line feeds
// become spaces, so that it can be written as one line.

#include <memory>
#include <string>
#include <vector>

#include "files/byte_stream.h"
#include "files/input_file.h"
#include "files/options.h"
#include "files/pipe_wait.h"
#include "files/read/json_splitter.h"
#include "files/record_reader.h"
#include "pipeline/buffers.h"

namespace doppel {

class ValueReader final : public RecordReader {
 public:
  // Reads `file` from `mark` on (its `tail` is 1 inside an array); the file descriptor is at the start of
  // the file. All references must outlive the reader. A file that ends inside a value or an array is a
  // Problem that says where; the values before it have been handed out.
  ValueReader(const FilesSourceOptions& options, Filling& filling, const InputFile& file, Fd fd,
              ByteCounter counter, LineMark mark);

  State take(Batch& batch) override;
  LineMark mark() const override { return mark_; }

 private:
  void skip_to_start(Batch& batch);
  bool value(Batch& batch);
  State end(Batch& batch);
  bool worth_waiting(const Batch& batch);
  void refill(Batch& batch);
  uint64_t lines_before(uint64_t offset);

  const FilesSourceOptions& options_;
  Filling& filling_;
  const InputFile& file_;
  int fd_;
  std::unique_ptr<ByteStream> stream_;
  PipeWait pipe_;
  LineMark mark_;  // behind the last value that was handed out
  JsonSplitter splitter_;
  size_t begin_ = 0;       // start of the open value in the buffer
  size_t scanned_ = 0;     // end of the examined bytes in the buffer
  uint64_t offset_ = 0;    // offset of scanned_ in the file
  uint64_t value_at_ = 0;  // offset of the open value in the file
  uint64_t value_line_ = 0;
  uint64_t skipped_ = 0;             // bytes of an overlong value that were already discarded
  std::vector<uint64_t> line_ends_;  // offsets in the file, of the last read
  size_t next_line_ = 0;             // first entry of line_ends_ that is not counted in lines_
  uint64_t lines_ = 0;               // lines counted so far
  bool complete_ = false;            // the open value has ended but was not handed out
  bool head_left_ = false;           // InputFile::head was not consumed yet
  bool started_ = false;
  bool ended_ = false;
  bool damaged_ = false;
};

}  // namespace doppel
