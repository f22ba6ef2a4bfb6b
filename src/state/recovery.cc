#include "state/recovery.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/status.h"

namespace doppel {
namespace {

// Says what is wrong with [from, to) of a column that a commit counted; empty if nothing is.
absl::StatusOr<std::string> fault_of(const File& file, uint64_t size, uint64_t from, uint64_t to,
                                     uint32_t crc) {
  if (size < to) return fmt::format("{} ends at offset {}, the commit needs {}", file.path(), size, to);
  ASSIGN_OR_RETURN(const uint32_t found, crc_of_range(file, from, to));
  if (found != crc) return fmt::format("{} is damaged between offsets {} and {}", file.path(), from, to);
  return std::string();
}

}  // namespace

absl::StatusOr<Seq> first_bad_row(const File& hot, const HotFormat& format, const BodiesFile* bodies,
                                  Seq from, Seq to, std::string& what) {
  ASSIGN_OR_RETURN(const uint64_t size, hot.size());
  const uint64_t rows = size < format.offset(0) ? 0 : (size - format.offset(0)) / format.row_bytes();
  Seq good = from;
  absl::Status body_status;
  std::string buffer;
  const absl::Status status = format.scan(hot, from, std::min<Seq>(to, rows), [&](StoredRow& stored) {
    if (!body_status.ok()) return;
    if (bodies != nullptr) body_status = bodies->read(stored.row.body, buffer).status();
    if (body_status.ok()) good = stored.seq + 1;
  });
  for (const absl::Status& s : {status, body_status}) {
    if (s.ok()) continue;
    if (!absl::IsDataLoss(s)) return s;
    what = std::string(s.message());
    return good;
  }
  return to;  // choose_commit() notices if the file is too short
}

absl::StatusOr<Recovery> choose_commit(const JournalContents& journal, const std::string& journal_path,
                                       const File& hot, const HotFormat& format, const File& bodies,
                                       Seq limit, const std::function<bool(std::string_view)>& supports) {
  Recovery recovery;
  if (!journal.damage.empty()) {
    recovery.notes.push_back(
        fmt::format("{}: {}; continuing from the previous commit", journal_path, journal.damage));
  }
  ASSIGN_OR_RETURN(const uint64_t hot_size, hot.size());
  ASSIGN_OR_RETURN(const uint64_t bodies_size, bodies.size());
  const CommitRecord& checkpoint = journal.entries.front().record;
  const auto too_short = [&](const File& file, uint64_t size, uint64_t needed) -> absl::Status {
    if (size >= needed) return absl::OkStatus();
    return absl::DataLossError(
        fmt::format("{}: ends at offset {}, the checkpoint at offset {} of {} needs {}; restore the "
                    "directory from a copy, or "
                    "start a new one",
                    file.path(), size, kFileHeaderBytes, journal_path, needed));
  };
  RETURN_IF_ERROR(too_short(hot, hot_size, format.offset(checkpoint.next_seq)));
  RETURN_IF_ERROR(too_short(bodies, bodies_size, checkpoint.bodies_end));

  if (checkpoint.next_seq > limit) {
    return absl::DataLossError(
        fmt::format("{}: row {} or its body is damaged, the checkpoint of {} needs it; "
                    "restore the directory from a copy, or start a new one",
                    hot.path(), limit, journal_path));
  }

  size_t good = 0;
  for (; good + 1 < journal.entries.size(); ++good) {
    const CommitRecord& before = journal.entries[good].record;
    const CommitRecord& next = journal.entries[good + 1].record;
    if (next.next_seq > limit) {
      recovery.notes.push_back(fmt::format(
          "commit {} cannot be used: row {} or its body is damaged; continuing from the previous commit",
          next.commits, limit));
      break;
    }
    ASSIGN_OR_RETURN(std::string fault, fault_of(hot, hot_size, format.offset(before.next_seq),
                                                 format.offset(next.next_seq), next.hot_crc));
    if (fault.empty()) {
      ASSIGN_OR_RETURN(fault,
                       fault_of(bodies, bodies_size, before.bodies_end, next.bodies_end, next.bodies_crc));
    }
    if (!fault.empty()) {
      recovery.notes.push_back(fmt::format(
          "commit {} cannot be used: {}; continuing from the previous commit", next.commits, fault));
      break;
    }
  }

  recovery.entry = good;
  for (;; --recovery.entry) {
    const CommitRecord& commit = journal.entries[recovery.entry].record;
    if (commit.commits == 0 || !supports || supports(commit.sink_position)) break;
    if (recovery.entry == 0) {
      return absl::FailedPreconditionError(
          fmt::format("{}: the outputs are shorter than commit {} (the checkpoint at offset {}) says, and "
                      "there is none before it; "
                      "restore the outputs, or start with a new state directory and new outputs",
                      journal_path, commit.commits, kFileHeaderBytes));
    }
  }
  if (recovery.entry < good) {
    recovery.notes.push_back(fmt::format("the outputs do not reach commit {}; continuing from commit {}",
                                         journal.entries[good].record.commits,
                                         journal.entries[recovery.entry].record.commits));
  }
  return recovery;
}

}  // namespace doppel
