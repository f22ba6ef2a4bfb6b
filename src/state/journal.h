#pragma once
// The file "journal": a header (file_header.h), then records: a checkpoint, then one commit for every
// batch since.
//
//    0  u32 length of the payload
//    4  u32 CRC32C of length and payload, seeded with that field of the record before (of the first: 0)
//    8  payload:
//         u8      1 checkpoint, 2 commit
//         varint  number of commits so far
//         varint  rows in "hot"
//         varint  length of "bodies"
//         u32     CRC32C of what "hot" gained since the record before    (checkpoint: 0)
//         u32     CRC32C of what "bodies" gained since the record before (checkpoint: 0)
//         varint  lowest live number
//         varint  lowest number whose row and body are kept
//         varint  documents judged
//         i64     when it was made, milliseconds since 1970 by the clock of the machine
//         string  source position, sink position, clock (varint length, bytes)
//         varint  how many numbers were removed, then each as varint: the first, then the gaps to the next
//                 (ascending). A commit: since the record before. A checkpoint: all that are not below
//                 the lowest number that is kept.
//         a checkpoint only: string data scheme, string rule, varint num_perm, varint mask_words
//
// A checkpoint begins a new file. The one before stays as "journal.1", with the commits up to the new
// checkpoint, the one before that as "journal.2", as many as wished: what they count stands in the columns
// still, so a start can go back to any of their commits if what came later is damaged. Reading stops at the
// first record that does not fit: what stands behind cannot be trusted, and going back to the commit before
// is always right, as the input is then judged again from there.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "index/index.h"
#include "state/file.h"
#include "state/file_header.h"

namespace doppel {

// What an index was made with; never changes.
struct Identity {
  std::string data_scheme;
  std::string rule;
  int num_perm = 0;
  int mask_words = 0;
};

// The state of an index after a commit.
struct CommitRecord {
  uint64_t commits = 0;
  Seq next_seq = 0;
  uint64_t bodies_end = kFileHeaderBytes;
  uint32_t hot_crc = 0;
  uint32_t bodies_crc = 0;
  Seq lowest_live = 0;
  Seq keep_from = 0;  // <= lowest_live
  uint64_t documents = 0;
  int64_t made_ms = 0;
  std::string source_position, sink_position, clock;
  std::vector<Seq> removed;  // ascending
  bool operator==(const CommitRecord&) const = default;
};

struct JournalEntry {
  CommitRecord record;
  uint64_t end = 0;  // offset behind it
  uint32_t crc = 0;  // seed of the next
};

struct JournalContents {
  Epoch epoch{};
  Identity identity;
  std::vector<JournalEntry> entries;  // the checkpoint, then the commits
  uint64_t file_bytes = 0;
  std::string damage;  // what is wrong behind the last entry; empty: nothing
};

// An error if the header or the checkpoint is not good. With `checkpoint_only` the commits are left out.
absl::StatusOr<JournalContents> read_journal(const File& file, bool checkpoint_only = false);

// The journals that exist, the newest first.
std::vector<std::string> journal_paths(const std::string& directory);
// Makes the journal with this number (0: "journal") the newest; newer ones go into "damaged".
absl::Status promote_journal(const std::string& directory, const std::string& path);
// Files that are of no use but may tell somebody something.
std::string damaged_folder(const std::string& directory);

class JournalWriter {
 public:
  JournalWriter() = default;
  // Goes on behind `last`.
  JournalWriter(File file, uint64_t start, const JournalEntry& last);
  // Begins a new journal in `directory` with this checkpoint and the commits made since. `kept` older ones
  // stay; negative: it takes the place of the newest. With `durable` it is on disk when this returns.
  static absl::StatusOr<JournalWriter> begin(const std::string& directory, const Epoch& epoch,
                                             const Identity& identity, const CommitRecord& checkpoint,
                                             const std::vector<CommitRecord>& since, int kept, bool durable);

  absl::Status append(const CommitRecord& commit);
  absl::Status sync() const { return file_.sync(); }
  uint64_t commit_bytes() const { return end_ - start_; }  // since the checkpoint
  const File& file() const { return file_; }

 private:
  File file_;
  uint64_t start_ = 0;
  uint64_t end_ = 0;
  uint32_t crc_ = 0;
};

constexpr std::string_view kJournalName = "journal";
constexpr std::string_view kNewJournalName = "journal.new";

}  // namespace doppel
