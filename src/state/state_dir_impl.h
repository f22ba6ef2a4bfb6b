#pragma once
// The implementation of a state directory, shared by the file that opens it (recovery.cc) and the one that
// commits to it and reads it (state_dir.cc).
//
// Rows and bodies are written once, to their final place. A commit is a small record that says how much of
// them counts. So an original costs one row and one body, and what a crash leaves behind the last good
// record is simply discarded.

#include <algorithm>
#include <chrono>
#include <future>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/bytes.h"
#include "base/check.h"
#include "base/clock.h"
#include "state/columns.h"
#include "state/file.h"
#include "state/journal.h"
#include "state/scheme.h"
#include "state/state_dir.h"

namespace doppel {

inline constexpr std::string_view kDamagedName = "DAMAGED";

struct StateDir::Impl {
  StateOptions options;
  std::string hot_path, bodies_path, journal_path;
  Epoch epoch{};
  Identity identity;
  File lock;
  std::optional<MarkIfBroken> mark_if_broken;
  File hot;
  std::optional<HotFormat> format;
  std::unique_ptr<BodiesFile> bodies;
  JournalWriter journal;
  CommitRecord state;                       // as of the last commit; its `removed` has all, unsorted
  absl::flat_hash_set<Seq> removed;         // the same numbers, for lookup
  absl::btree_map<Seq, std::string> shown;  // by clusters, instead of state.shown
  Seq checkpoint_seq = 0;
  uint64_t checkpoint_commits = 0;
  Clock::time_point checkpoint_time = Clock::now();
  std::vector<Seq> kept_from;  // of the kept checkpoints, the newest first
  // Bodies are in the order of rows, so space is freed by punching below one offset.
  uint64_t last_body_end = 0;
  Seq punched = 0;  // rows below were freed
  Recovered recovered;
  std::string rows;  // encoded rows of one commit
  PodVector<char> one_row;
  bool failed = false;
  CheckpointStats checkpoints;

  // A checkpoint whose columns are being synced, and the commits since it began.
  struct Pending {
    CommitRecord record;
    Clock::time_point start;
    std::vector<std::string> since;  // encoded, with the changes of their positions only
    std::future<absl::Status> synced;
  };
  std::optional<Pending> pending;

  bool durable() const { return options.fsync != Fsync::none; }
  absl::Status open(const Supports& supports);
  absl::Status create();
  class Restart;  // recovery.cc
  absl::Status recover(const Supports& supports);
  absl::Status check_header(const FileHeader& header, const File& file) const;
  absl::Status refuse_differences(const Identity& stored) const;
  absl::Status refuse(const std::vector<std::string>& differences) const;
  absl::Status open_columns(File& bodies_file);
  absl::Status cut(const JournalContents& contents, const JournalEntry& entry, const File& bodies_file);
  void check(const Commit& commit) const;
  absl::Status commit(const Commit& commit);
  void apply_shown(const CommitRecord& record);
  CommitRecord whole_state() const;
  bool checkpoint_is_due() const;
  void start_checkpoint();
  absl::Status finish_checkpoint();
  absl::Status sync_columns();
  absl::Status begin_journal(CommitRecord checkpoint, const std::vector<std::string>& since,
                             Clock::time_point start);
  absl::Status checkpoint();
  void give_back();
};

// Sorts the numbers, and drops duplicates and numbers below `lowest`.
inline void tidy(std::vector<Seq>& removed, Seq lowest) {
  std::sort(removed.begin(), removed.end());
  removed.erase(std::unique(removed.begin(), removed.end()), removed.end());
  removed.erase(removed.begin(), std::lower_bound(removed.begin(), removed.end(), lowest));
}

}  // namespace doppel
