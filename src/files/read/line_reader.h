#pragma once
// One file as records, one per line: read into a buffer, find the ends with memchr, hand out views. Only a
// line that does not end in its buffer is moved, once, to the start of the next one.

#include <memory>
#include <string>

#include "files/byte_stream.h"
#include "files/input_file.h"
#include "files/options.h"
#include "files/pipe_wait.h"
#include "files/position.h"
#include "files/record_reader.h"
#include "pipeline/buffers.h"

namespace doppel {

class LineReader final : public RecordReader {
 public:
  // Reads `file` from where `mark` says; the file descriptor is at the start. All references outlive the
  // reader. live: the end of a file that is not packed is only where it ends today, and an empty pipe is not
  // waited for; both are `waiting`.
  LineReader(const FilesSourceOptions& options, Filling& filling, const InputFile& file, Fd fd,
             ByteCounter counter, LineMark mark, bool live = false);

  State take(Batch& batch) override;
  void finish() override { live_ = false; }
  uint64_t open_bytes() const override;
  LineMark mark() const override;

 private:
  void skip_to_start(Batch& batch);
  bool line(Batch& batch, size_t length, bool terminated);
  void refill(Batch& batch);
  bool worth_waiting(const Batch& batch);

  const FilesSourceOptions& options_;
  Filling& filling_;
  const InputFile& file_;
  int fd_;
  std::unique_ptr<ByteStream> stream_;
  PipeWait pipe_;
  LineMark mark_;            // offset and lines: of what was handed out
  size_t begin_ = 0;         // of the open line, in the buffer
  size_t scanned_ = 0;       // no line feed before
  uint64_t skipped_ = 0;     // bytes of an overlong line that are gone already
  uint64_t delivered_tail_;  // > 0: the first line had this length when an earlier run took it
  bool live_;
  bool head_left_ = false;  // InputFile::head was not taken yet
  bool at_end_ = false;     // the last read found nothing
  bool started_ = false;
  bool ended_ = false;
  bool damaged_ = false;
};

}  // namespace doppel
