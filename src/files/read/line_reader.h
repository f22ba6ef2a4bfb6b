#pragma once
// Reads a file as records, one per line, or one per message of an mbox: fills a buffer, finds the line feeds
// with memchr and hands out views. Only a line that continues in the next buffer is copied, once, to the
// start of that buffer.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "files/byte_stream.h"
#include "files/input_file.h"
#include "files/record_reader.h"
#include "pipeline/buffers.h"
#include "pipeline/stream.h"

namespace doppel {

// How long a reader waits for a pipe. A batch with records waits only briefly for more; an empty one waits
// until the run is stopped.
class PipeWait {
 public:
  PipeWait(const FilesSourceOptions& options, int fd) : options_(options), fd_(fd) {}

  void begin() { patient_ = false; }  // starts a new batch
  enum class Answer { read, deliver, stopped };
  // read: the pipe has data or has ended.
  Answer ask(bool batch_empty);

 private:
  const FilesSourceOptions& options_;
  int fd_;
  std::chrono::steady_clock::time_point patience_;  // when a batch with records is delivered
  bool patient_ = false;
};

// The base of the readers of lines, JSON values and signed records: reads a file from front to back into the
// buffer of the batch.
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

// Reads an mbox file: each message is one record, from the line "From NAME DATE" on. Its bytes are unchanged,
// so that the messages that are kept are an mbox file, too.
class MboxReader final : public BufferedReader {
 public:
  // Reads `file` from `mark` on; the file descriptor is at the start of the file. All references must outlive
  // the reader. Bytes in front of the first message are a Problem that says where. The last message is handed
  // out again if it has become longer.
  MboxReader(const FilesSourceOptions& options, Filling& filling, const InputFile& file, Fd fd,
             ByteCounter counter, LineMark mark);

  State take(Batch& batch) override;
  LineMark mark() const override;

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
  // Without empty lines at its end, the length of the last message, which an earlier run delivered (> 0: it
  // comes first), or which this run has delivered.
  uint64_t delivered_tail_ = 0, tail_ = 0;
  uint64_t tail_whole_ = 0, tail_lines_ = 0;  // with the empty lines; its lines
};

}  // namespace doppel
