#pragma once
// A WARC file as records: each is a head and a block, back to back with empty lines between, packed member by
// member or not at all.

#include <deque>
#include <memory>

#include "stream/buffers.h"
#include "stream/files/byte_stream.h"
#include "stream/files/files_source.h"
#include "stream/files/listing.h"
#include "stream/files/record_reader.h"

namespace doppel {

class WarcReader final : public RecordReader {
 public:
  // Reads `file` from where `mark` says; the file descriptor is at the start. All references outlive the
  // reader. Of a record above max_whole_bytes only the beginning is handed out. A file that is damaged or
  // ends within a record is a Problem that says where; what was before it has been handed out.
  WarcReader(const FilesSourceOptions& options, Filling& filling, const InputFile& file, Fd fd,
             ByteCounter counter, LineMark mark);

  State take(Batch& batch) override;
  LineMark mark() const override { return mark_; }

 private:
  std::string_view open() const { return {filling_.data() + begin_, filling_.end() - begin_}; }
  bool start(Batch& batch);
  bool have(size_t bytes, Batch& batch);
  void skip_empty_lines(Batch& batch);
  bool record(Batch& batch);
  void forward(size_t bytes);
  void damage(Batch& batch, uint64_t offset, const std::string& cause);
  void read_more(Batch& batch, size_t wanted);

  const FilesSourceOptions& options_;
  Filling& filling_;
  const InputFile& file_;
  int fd_;
  std::unique_ptr<ByteStream> stream_;
  LineMark mark_;     // offset: behind the last record handed out, in unpacked bytes
  size_t begin_ = 0;  // of what was not handed out yet, in the buffer
  uint64_t at_ = 0;   // the same, in the file
  uint64_t end_ = 0;  // of what was read, in the file
  bool started_ = false;
  bool ended_ = false;  // there is nothing more to be read
  bool damaged_ = false;
  struct Stored {
    uint64_t at;      // in unpacked bytes
    uint64_t stored;  // in the file
  };
  std::deque<Stored> members_;  // that begin at or behind at_
};

}  // namespace doppel
