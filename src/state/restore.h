#pragma once
// Loads the index from the state directory into the engine.

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "engine/engine.h"
#include "state/state_dir.h"

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

}  // namespace doppel
