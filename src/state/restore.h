#pragma once
// Loads the index from the state directory, and indexes that are only read, into the engine.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/engine.h"
#include "state/state_dir.h"
#include "text/hash_key.h"

namespace doppel {

// Progress of restoring an index. total is 0 if unknown.
struct RestoreProgress {
  std::string phase;  // "loading the snapshot"
  uint64_t done = 0, total = 0;
};

// The phase of a daemon that waits to take over and follows the log.
inline constexpr const char* kStandingBy = "standing by";

// Called from time to time on the thread that restores.
using ReportProgress = std::function<void(const RestoreProgress&)>;

// Loads everything: the whole restore.
absl::Status restore_engine(
    StateDir& state, Engine& engine, int threads,
    const ReportProgress& report = [](const RestoreProgress&) {});
// The slow part of it: loads the stored rows. Call it between start_restore() and finish_restore().
absl::Status load_rows_into(StateDir& state, Engine& engine, const ReportProgress& report);

// Indexes that are only read. Their originals come before all others, so a document that is in one of them
// is a duplicate. They are loaded under the lowest numbers and without ids, so nothing in the stream
// removes or replaces them. The stored numbers of a run do not include them: its own originals begin at 0.
class Against {
 public:
  // Opens the indexes in these directories, which may be none, with a shared lock on each. `own` is the
  // directory of the index that is compared with them; empty: it is in memory. Sets the bands of the engine's
  // rule to theirs, or to those of `own`. FailedPrecondition: an index was made with other settings than the
  // engine's; the message names them.
  static absl::StatusOr<std::unique_ptr<Against>> open(const std::vector<std::string>& directories,
                                                       const std::string& own, EngineOptions& engine);
  // The hash key of the first of these indexes; nullopt: it has none.
  static absl::StatusOr<std::optional<HashKey>> hash_key(const std::vector<std::string>& directories);
  ~Against();

  uint64_t originals() const;
  // A "name=value" line for the rule that identifies the indexes; empty if there are none.
  std::string describe() const;
  // `own` together with the bodies of the indexes; valid as long as this object and `own`.
  Bodies& bodies(Bodies& own);

 private:
  friend absl::Status restore_engine(const Against& against, StateDir* state, Engine& engine, int threads,
                                     const ReportProgress& report);
  absl::Status restore_into(Engine& engine) const;

  struct Impl;
  explicit Against(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// The part of a commit that RESOLVE decided. A directory numbers its own originals from 0, while the engine
// counts those of `against` first.
Commit own_commit(const Resolved& resolved, Seq first_own);

// Loads these indexes, and the index in `state` (may be nullptr), into the engine.
absl::Status restore_engine(
    const Against& against, StateDir* state, Engine& engine, int threads,
    const ReportProgress& report = [](const RestoreProgress&) {});

}  // namespace doppel
