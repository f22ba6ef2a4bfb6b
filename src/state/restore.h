#pragma once
// Loads the index from the state directory into the engine.

#include "absl/status/status.h"
#include "engine/engine.h"
#include "state/restore_progress.h"
#include "state/state_dir.h"

namespace doppel {

// Loads everything: the whole restore.
absl::Status restore_engine(
    StateDir& state, Engine& engine, int threads,
    const ReportProgress& report = [](const RestoreProgress&) {});
// The slow part of it: loads the stored rows. Call it between start_restore() and finish_restore().
absl::Status load_rows_into(StateDir& state, Engine& engine, const ReportProgress& report);

}  // namespace doppel
