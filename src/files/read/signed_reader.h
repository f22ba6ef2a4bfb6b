#pragma once
// Reads a file of signed records (engine/signed_file.h). The value of each Record is one signed record.

#include <memory>

#include "files/byte_stream.h"
#include "files/input_file.h"
#include "files/options.h"
#include "files/pipe_wait.h"
#include "files/record_reader.h"
#include "pipeline/buffers.h"

namespace doppel {

class SignedReader final : public RecordReader {
 public:
  // Reads `file` from `mark` on (its `tail` is 1 behind an end marker); the file descriptor is at the start
  // of the file. All references must outlive the reader. A file of another data scheme, a damaged file, and
  // one without its end marker is a Problem that says where; the records before it have been handed out.
  // The reader does not parse the records.
  SignedReader(const FilesSourceOptions& options, Filling& filling, const InputFile& file, Fd fd,
               ByteCounter counter, LineMark mark);

  State take(Batch& batch) override;
  LineMark mark() const override { return mark_; }

 private:
  enum class Step { taken, full, short_of_bytes };
  std::string_view open() const { return {filling_.data() + begin_, filling_.end() - begin_}; }
  void start(Batch& batch);
  Step step(Batch& batch);
  Step header(Batch& batch);
  State end(Batch& batch);
  void forward(size_t bytes);
  void damage(Batch& batch, const std::string& cause);
  bool worth_waiting(const Batch& batch);
  void refill(Batch& batch);

  const FilesSourceOptions& options_;
  Filling& filling_;
  const InputFile& file_;
  int fd_;
  std::unique_ptr<ByteStream> stream_;
  PipeWait pipe_;
  LineMark mark_;           // offset: of the first byte not handed out; lines: records
  size_t begin_ = 0;        // the same place, in the buffer
  size_t wanted_ = 1;       // bytes from there that the next step needs
  bool head_left_ = false;  // InputFile::head was not consumed yet
  bool started_ = false;
  bool ended_ = false;    // nothing more can be read
  bool damaged_ = false;  // the bytes that were read are discarded
};

}  // namespace doppel
