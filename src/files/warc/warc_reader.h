#pragma once
// Reads a WARC file as records. Each record is a head and a block, followed by empty lines. Records are
// compressed member by member, or not at all.

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/checksums.h"
#include "files/byte_stream.h"
#include "files/input_file.h"
#include "files/output_file.h"
#include "files/record_reader.h"
#include "formats/record.h"
#include "formats/warc/warc.h"
#include "pipeline/buffers.h"

namespace doppel {

// Processes a WARC record that is too large for memory while it is read: hashes its payload, and stores the
// rest of it in a temporary file, so that a sink can write the whole record.
class LargeRecord {
 public:
  // `record` has the beginning of its block. The temporary file is created in `directory`; if that is
  // empty, nobody writes the record, and there is no file.
  LargeRecord(const WarcRecord& record, const std::string& directory);
  // Adds the following bytes of the block, in order.
  void add(std::string_view bytes);
  // whole: all bytes of the block were added.
  std::shared_ptr<const RecordRest> finish(bool whole);

 private:
  std::optional<Sha1> payload_;  // set if the record itself has no SHA-1
  std::unique_ptr<Spill> spill_;
  uint64_t bytes_ = 0;
  std::string missing_;
};

class WarcReader final : public RecordReader {
 public:
  // Reads `file` from `mark` on; the file descriptor is at the start of the file. All references must
  // outlive the reader. A record above max_whole_bytes is handed out with its beginning, and `rest` stands
  // for what follows. Damage, or a file that ends inside a record, is a Problem that says where (in a
  // compressed file also in which member), and how much was skipped before the next record.
  WarcReader(const FilesSourceOptions& options, Filling& filling, const InputFile& file, Fd fd,
             ByteCounter counter, LineMark mark);

  State take(Batch& batch) override;
  LineMark mark() const override { return mark_; }

 private:
  std::string_view open() const { return {filling_.data() + begin_, filling_.end() - begin_}; }
  bool start(Batch& batch);
  bool have(size_t bytes);
  void skip_empty_lines();
  bool record(Batch& batch);
  bool the_rest(uint64_t left, LargeRecord& rest);
  void forward(size_t bytes);
  void damage(uint64_t offset, std::string cause);
  void too_short(std::string cause);
  bool ends_early(size_t bytes);
  std::optional<size_t> another(size_t first, size_t last, bool lines);
  bool ends_well(size_t bytes);
  bool ends_well_far(uint64_t bytes) const;
  bool go_on(Batch& batch);
  void drop_members();
  bool next_head();
  bool next_member();
  void read_more(size_t wanted);

  const FilesSourceOptions& options_;
  Filling& filling_;
  const InputFile& file_;
  int fd_;
  const std::shared_ptr<Arriving> arriving_;  // null: all bytes of fd_ are there
  std::unique_ptr<ByteStream> stream_;
  LineMark mark_;     // offset: behind the last record handed out, in uncompressed bytes
  size_t begin_ = 0;  // offset in the buffer of the first byte not handed out
  uint64_t at_ = 0;   // the same place in the file (uncompressed)
  uint64_t end_ = 0;  // end of what was read, in the file (uncompressed)
  bool started_ = false;
  bool ended_ = false;  // nothing more can be read
  bool damaged_ = false;
  bool lost_ = false;     // the stream cannot decompress the bytes after end_
  bool ends_ = false;     // no record follows the damage in what was read
  bool at_next_ = false;  // the next record begins at at_
  uint64_t damaged_at_ = 0, skipped_ = 0;
  std::string cause_, lost_cause_;
  struct Stored {
    uint64_t at;      // offset in uncompressed bytes
    uint64_t stored;  // offset in the stored file
  };
  std::deque<Stored> members_;        // members that begin at or behind at_
  std::optional<Stored> member_;      // the last one before them
  std::optional<Stored> damaged_in_;  // the member of damaged_at_
};

// Converts an ARC file (versions 1.0 and 1.1), the format before WARC, to WARC as it is read: records get
// WARC heads, and their blocks stay.

// stored_at() is the offset of the ARC record whose WARC head the last read() began. resume() continues at
// the next line that is the head of a record, in this member or another. size: of the file; 0: unknown.
std::unique_ptr<ByteStream> arc_as_warc(std::unique_ptr<ByteStream> arc, Packing packing, uint64_t size);

}  // namespace doppel
