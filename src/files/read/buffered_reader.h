#pragma once
// The base of the readers of lines, JSON values and signed records: reads a file from front to back into the
// buffer of the batch.

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "files/byte_stream.h"
#include "files/input_file.h"
#include "files/options.h"
#include "files/pipe_wait.h"
#include "files/record_reader.h"
#include "pipeline/buffers.h"
#include "pipeline/stream.h"

namespace doppel {

class BufferedReader : public RecordReader {
 public:
  LineMark mark() const override { return mark_; }

 protected:
  // The file descriptor is at the start of the file. All references must outlive the reader.
  BufferedReader(const FilesSourceOptions& options, Filling& filling, const InputFile& file, Fd fd,
                 ByteCounter counter, LineMark mark);

  // Moves to mark_.offset. Adds a Problem, and ends, if that place does not exist any more.
  void start(Batch& batch);
  // The bytes that were read but not handed out yet.
  std::string_view open() const { return {filling_.data() + begin_, filling_.end() - begin_}; }
  // Reads more behind the open bytes, which may move. Makes room for `wanted` bytes or more. Returns the
  // number of bytes read; 0 at the end of the file.
  absl::StatusOr<size_t> read_more(size_t wanted = 0);
  // Waits for a pipe. Returns false if the batch should be delivered first. A stopped run discards an
  // incomplete record.
  bool worth_waiting(const Batch& batch);

  const FilesSourceOptions& options_;
  Filling& filling_;
  const InputFile& file_;
  const int fd_;
  const std::unique_ptr<ByteStream> stream_;
  PipeWait pipe_;
  LineMark mark_;     // after the last record that was handed out
  size_t begin_ = 0;  // start of the open record in the buffer
  bool head_left_;    // InputFile::head was not consumed yet
  bool started_ = false;
  bool ended_ = false;    // nothing more can be read
  bool damaged_ = false;  // the open bytes are discarded
};

}  // namespace doppel
