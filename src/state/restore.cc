#include "state/restore.h"

#include <algorithm>

#include "base/status.h"

namespace doppel {

absl::Status load_rows_into(StateDir& state, Engine& engine, const ReportProgress& report) {
  constexpr uint64_t kReportEvery = 1 << 16;
  const Seq from = std::max(state.recovered().first_row, engine.first_to_restore());
  const uint64_t total = state.recovered().next_seq - from;
  uint64_t done = 0;
  report({"loading the snapshot", 0, total});
  absl::Status taken;
  RETURN_IF_ERROR(state.load_rows(
      [&](const StoredRow& row) {
        if (!taken.ok()) return;
        StoredRow numbered = row;
        numbered.seq += engine.originals().first_own();
        taken = engine.restore(numbered);
        if (row.seq >= from && ++done % kReportEvery == 0) report({"loading the snapshot", done, total});
      },
      from));
  return taken;
}

absl::Status restore_engine(StateDir& state, Engine& engine, int threads, const ReportProgress& report) {
  const Recovered& recovered = state.recovered();
  RETURN_IF_ERROR(engine.start_restore(recovered.first_row, recovered.lowest_live, recovered.clock));
  RETURN_IF_ERROR(load_rows_into(state, engine, report));
  engine.finish_restore(threads);
  return absl::OkStatus();
}

}  // namespace doppel
