#include "state/recovery.h"

#include <fmt/format.h>

#include "base/status.h"

namespace doppel {
namespace {

// What keeps [from, to) of a column from being what a commit counted; empty: nothing.
absl::StatusOr<std::string> fault_of(const File& file, uint64_t size, uint64_t from, uint64_t to,
                                     uint32_t crc) {
  if (size < to) return fmt::format("{} ends at offset {}, the commit needs {}", file.path(), size, to);
  ASSIGN_OR_RETURN(const uint32_t found, crc_of_range(file, from, to));
  if (found != crc) return fmt::format("{} is damaged between offsets {} and {}", file.path(), from, to);
  return std::string();
}

}  // namespace

absl::StatusOr<Recovery> choose_commit(const JournalContents& journal, const std::string& journal_path,
                                       const File& hot, const HotFormat& format, const File& bodies,
                                       const std::function<bool(std::string_view)>& supports) {
  Recovery recovery;
  if (!journal.damage.empty()) {
    recovery.notes.push_back(
        fmt::format("{}: {}; going on from the commit before", journal_path, journal.damage));
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

  size_t good = 0;
  for (; good + 1 < journal.entries.size(); ++good) {
    const CommitRecord& before = journal.entries[good].record;
    const CommitRecord& next = journal.entries[good + 1].record;
    ASSIGN_OR_RETURN(std::string fault, fault_of(hot, hot_size, format.offset(before.next_seq),
                                                 format.offset(next.next_seq), next.hot_crc));
    if (fault.empty()) {
      ASSIGN_OR_RETURN(fault,
                       fault_of(bodies, bodies_size, before.bodies_end, next.bodies_end, next.bodies_crc));
    }
    if (!fault.empty()) {
      recovery.notes.push_back(
          fmt::format("commit {} cannot be used: {}; going on from the commit before", next.commits, fault));
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
    recovery.notes.push_back(fmt::format("the outputs do not reach commit {}; going on from commit {}",
                                         journal.entries[good].record.commits,
                                         journal.entries[recovery.entry].record.commits));
  }
  return recovery;
}

}  // namespace doppel
