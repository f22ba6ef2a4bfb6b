#pragma once
// From the state directory into the engine: what an earlier run left.

#include "absl/status/status.h"
#include "engine/engine.h"
#include "state/restore_progress.h"
#include "state/state_dir.h"

namespace doppel {

// Loads what an earlier run left into the engine.
absl::Status restore_engine(
    StateDir& state, Engine& engine, int threads,
    const ReportProgress& report = [](const RestoreProgress&) {});
// The step of it that takes time: the stored rows, between start_restore() and finish_restore().
absl::Status load_rows_into(StateDir& state, Engine& engine, const ReportProgress& report);

}  // namespace doppel
