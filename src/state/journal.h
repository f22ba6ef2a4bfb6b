#pragma once
// The file "journal": a header (file_header.h), then records: a checkpoint, then one commit for every
// batch since.
//
//    0  u32 length of the payload
//    4  u32 CRC32C of length and payload, seeded with that field of the record before (of the first: 0)
//    8  payload:
//         u8      1 checkpoint, 2 commit with its whole source position, 3 commit with what changed of it
//         varint  number of commits so far
//         varint  rows in "hot"
//         varint  length of "bodies"
//         u32     CRC32C of what "hot" gained since the record before    (checkpoint: 0)
//         u32     CRC32C of what "bodies" gained since the record before (checkpoint: 0)
//         varint  lowest live number
//         varint  lowest number whose row and body are kept
//         varint  documents judged
//         i64     when it was made, milliseconds since 1970 by the clock of the machine
//         3: the delta of the source position (position_delta.h); else string source position
//         string  sink position, clock (varint length, bytes)
//         varint  how many numbers were removed, then each as varint: the first, then the gaps to the next
//                 (ascending). A commit: since the record before. A checkpoint: all that are not below
//                 the lowest number that is kept.
//         a checkpoint only: string data scheme, string rule, varint num_perm, varint mask_words
//
// Version 2 has no commits of type 3. It is read; the first commit behind it begins a journal of version 3.
//
// A checkpoint begins a new file. The one before stays as "journal.1", with the commits up to the new
// checkpoint, the one before that as "journal.2", as many as are set: what they count is in the columns
// still, so a start can go back to any of their commits if what came later is damaged. Reading stops at the
// first record that does not fit: what follows cannot be trusted, and going back to the commit before
// is always right, as the input is then judged again from there.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "index/index.h"
#include "state/file.h"
#include "state/file_header.h"
#include "state/position_delta.h"

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

// Does `next` follow `before`, in one index that only grows?
bool follows(const CommitRecord& before, const CommitRecord& next);

struct JournalEntry {
  CommitRecord record;  // where `position` is given, without its source position
  std::optional<PositionDelta> position;
  uint64_t end = 0;  // offset behind it
  uint32_t crc = 0;  // seed of the next
};

struct JournalContents {
  Epoch epoch{};
  uint32_t version = 0;
  Identity identity;
  std::vector<JournalEntry> entries;  // the checkpoint, then the commits
  uint64_t file_bytes = 0;
  std::string damage;  // what is wrong behind the last entry; empty: nothing

  // Many entries share most of a long one: it is made only for the one that is asked for.
  std::string source_position(size_t entry) const;
};

// An error if the header or the checkpoint is not good. With `checkpoint_only` the commits are left out.
absl::StatusOr<JournalContents> read_journal(const File& file, bool checkpoint_only = false);

// The journals that exist, the newest first.
std::vector<std::string> journal_paths(const std::string& directory);
// The last commit of a directory that nobody has opened; none: it is new, or cannot be read.
struct LastCommit {
  Epoch epoch{};
  std::string rule;
  CommitRecord record;  // with its whole source position
};
std::optional<LastCommit> last_commit(const std::string& directory);
// Makes the journal with this number (0: "journal") the newest; newer ones go into "damaged".
absl::Status promote_journal(const std::string& directory, const std::string& path);
// Files that doppel does not use, but that may help a person.
std::string damaged_folder(const std::string& directory);

// A commit as JournalWriter takes it; `position_before`: the source position of the record before.
std::string encode_commit(const CommitRecord& commit, std::string_view position_before);

class JournalWriter {
 public:
  JournalWriter() = default;
  // Goes on behind `last`, in a file of this version.
  JournalWriter(File file, uint32_t version, uint64_t start, const JournalEntry& last);
  // Begins a new journal in `directory` with this checkpoint and the encoded commits since. `kept` older ones
  // stay; negative: it takes the place of the newest. With `durable` it is on disk when this returns.
  static absl::StatusOr<JournalWriter> begin(const std::string& directory, const Epoch& epoch,
                                             const Identity& identity, const CommitRecord& checkpoint,
                                             const std::vector<std::string>& since, int kept, bool durable);

  // An encoded commit. Only where takes_commits().
  absl::Status append(std::string_view commit);
  // False behind what an older version wrote: a new journal is to be begun.
  bool takes_commits() const { return version_ == kJournalVersion; }
  absl::Status sync() const { return file_.sync(); }
  uint64_t commit_bytes() const { return end_ - start_; }  // since the checkpoint
  const File& file() const { return file_; }

 private:
  File file_;
  uint32_t version_ = kJournalVersion;
  uint64_t start_ = 0;
  uint64_t end_ = 0;
  uint32_t crc_ = 0;
};

constexpr std::string_view kJournalName = "journal";
constexpr std::string_view kNewJournalName = "journal.new";

}  // namespace doppel
