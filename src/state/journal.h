#pragma once
// The file "journal": a header (columns.h), then records: one checkpoint, then one commit per batch.
//
//    0  u32 length of the payload
//    4  u32 CRC32C of length and payload, seeded with the same field of the previous record (the first: 0)
//    8  payload:
//         u8      1 checkpoint, 2 commit with its whole source position, 3 commit with the position's changes
//         varint  number of commits so far
//         varint  rows in "hot"
//         varint  length of "bodies"
//         u32     CRC32C of what "hot" gained since the previous record    (checkpoint: 0)
//         u32     CRC32C of what "bodies" gained since the previous record (checkpoint: 0)
//         varint  lowest live number
//         varint  lowest number whose row and body are kept
//         varint  documents judged
//         i64     when it was made, milliseconds since 1970 by the machine's clock
//         3: the delta of the source position (PositionDelta); else string source position
//         string  sink position, clock (varint length, bytes)
//         varint  number of removals, then each removed number as varint: the first, then the gaps
//                 (ascending). A commit has the numbers removed since the previous record, a checkpoint all
//                 removed numbers that are not below the lowest kept number.
//         varint  number of clusters that show a copy in place of their original, then for each: varint gap
//                 from the number of the original before, string copy (records/metadata.h). A commit has
//                 the clusters that changed, a checkpoint all clusters whose originals are not removed.
//         a checkpoint only: string data scheme, string rule, varint num_perm, varint mask_words
//
// Version 3 does not have the clusters, and version 2 no commits of type 3 either. Both can be read; the next
// commit begins a journal of this version.
//
// A checkpoint begins a new file. The previous one stays as "journal.1", with the commits up to the new
// checkpoint, the one before it as "journal.2", and so on, as many as the settings say. The columns still
// hold what these commits count, so a start can go back to any of them if later data is damaged. Reading
// stops at the first record that does not match: what follows cannot be trusted. Going back to the commit
// before is always safe, because the input is judged again from there.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "engine/resolved.h"
#include "index/index.h"
#include "state/columns.h"
#include "state/file.h"

namespace doppel {

// What changed in a position since the previous commit. Positions of files grow with the number of files,
// but two successive ones differ only at their ends. So a commit stores the difference.
//
//   new = before[0, front) + middle + before[size - back - 4, size - 4) + tail
//
// A position may end with a checksum. So its last four bytes (`tail`) are always written, and only the
// bytes before them are compared. In the journal: varint front, string middle, varint back, string tail.
struct PositionDelta {
  uint64_t front = 0;  // bytes kept at the beginning
  std::string middle;
  uint64_t back = 0;  // bytes kept at the end, before the last four
  std::string tail;   // at most four bytes
  bool operator==(const PositionDelta&) const = default;
};

PositionDelta delta_of(std::string_view before, std::string_view after);
void put_delta(std::string& out, const PositionDelta& delta);
PositionDelta take_delta(ByteReader& in);

// Returns false if the delta does not match a position of this length. Otherwise sets `length` to the length
// of the new position.
bool fits(const PositionDelta& delta, uint64_t& length);
// Takes time in proportion to the delta and its back, not to the position. The delta must fit.
void apply(const PositionDelta& delta, std::string& position);

// The settings that an index was made with. Only the rule may change.
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
  std::vector<Shown> shown;  // ascending
  bool operator==(const CommitRecord&) const = default;
};

// Whether `next` can follow `before` in an index that only grows.
bool follows(const CommitRecord& before, const CommitRecord& next);

struct JournalEntry {
  CommitRecord record;  // without its source position if `position` is set
  std::optional<PositionDelta> position;
  uint64_t end = 0;  // offset behind the entry
  uint32_t crc = 0;  // seed of the next entry
};

struct JournalContents {
  Epoch epoch{};
  uint32_t version = 0;
  Identity identity;
  std::vector<JournalEntry> entries;  // the checkpoint, then the commits
  uint64_t file_bytes = 0;
  std::string damage;  // what is wrong behind the last entry; empty: nothing

  // The source position after an entry. It is put together on request, because entries share most of a long
  // position.
  std::string source_position(size_t entry) const;
};

// It is an error if the header or the checkpoint is damaged. `checkpoint_only` skips the commits.
absl::StatusOr<JournalContents> read_journal(const File& file, bool checkpoint_only = false);

// The journals that exist, the newest first.
std::vector<std::string> journal_paths(const std::string& directory);
// The last commit of a directory that no process uses; nullopt if there is none or it cannot be read.
struct LastCommit {
  Epoch epoch{};
  std::string rule;
  CommitRecord record;  // with its whole source position
};
std::optional<LastCommit> last_commit(const std::string& directory);
// Makes the journal at `path` the newest; moves newer ones into damaged_folder().
absl::Status promote_journal(const std::string& directory, const std::string& path);
// Holds files that doppel does not use, but that may help a person.
std::string damaged_folder(const std::string& directory);

// Encodes a commit for JournalWriter. `position_before` is the source position of the previous record.
std::string encode_commit(const CommitRecord& commit, std::string_view position_before);

class JournalWriter {
 public:
  JournalWriter() = default;
  // Continues behind `last`, in a file of this version.
  JournalWriter(File file, uint32_t version, uint64_t start, const JournalEntry& last);
  // Begins a new journal in `directory` with this checkpoint and the encoded commits since. Keeps `kept`
  // older ones; if negative, the new one replaces the newest. If `durable`, it is on disk when this
  // returns.
  static absl::StatusOr<JournalWriter> begin(const std::string& directory, const Epoch& epoch,
                                             const Identity& identity, const CommitRecord& checkpoint,
                                             const std::vector<std::string>& since, int kept, bool durable);

  // Appends an encoded commit. Requires takes_commits().
  absl::Status append(std::string_view commit);
  // False for a journal of an older version: begin a new one.
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
