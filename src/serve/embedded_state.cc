#include "serve/embedded_state.h"

#include <utility>

#include "base/status.h"
#include "serve/setup.h"
#include "state/journal.h"

namespace doppel {

absl::StatusOr<std::unique_ptr<StateDir>> open_embedded_state(const Options& o, EngineOptions& engine,
                                                              const StateDir::Supports& supports,
                                                              std::function<absl::Status()> sync_outputs) {
  if (const std::optional<LastCommit> last = last_commit(o.state_directory))
    keep_banding(engine.rule, last->rule);
  StateOptions options{.directory = o.state_directory,
                       .data_scheme = engine.scheme.describe(),
                       .rule = describe_rule(engine.rule),
                       .num_perm = o.num_perm,
                       .mask_words = engine.rule.banding.mask_words(),
                       .fsync = o.fsync == "none"     ? Fsync::none
                                : o.fsync == "commit" ? Fsync::commit
                                                      : Fsync::checkpoint,
                       .checkpoint_documents = o.checkpoint_documents,
                       .checkpoint_interval_ms = o.checkpoint_interval_ms,
                       .snapshots = o.snapshots,
                       .sync_outputs = std::move(sync_outputs)};
  ASSIGN_OR_RETURN(std::unique_ptr<StateDir> state, StateDir::open(options, supports));
  take_room(engine.rule, state->recovered().rule);
  return state;
}

absl::Status load_rows_into(StateDir& state, Engine& engine, const ReportProgress& report) {
  constexpr uint64_t kReportEvery = 1 << 16;
  const uint64_t total = state.recovered().next_seq - state.recovered().first_row;
  uint64_t done = 0;
  report({"loading the snapshot", 0, total});
  absl::Status taken;
  RETURN_IF_ERROR(state.load_rows([&](const StoredRow& row) {
    if (!taken.ok()) return;
    taken = engine.restore(row);
    if (++done % kReportEvery == 0) report({"loading the snapshot", done, total});
  }));
  return taken;
}

absl::Status restore_engine(StateDir& state, Engine& engine, int threads, const ReportProgress& report) {
  const Recovered& recovered = state.recovered();
  RETURN_IF_ERROR(engine.start_restore(recovered.first_row, recovered.lowest_live, recovered.clock));
  RETURN_IF_ERROR(load_rows_into(state, engine, report));
  engine.finish_restore(threads);
  return absl::OkStatus();
}

StateJournal::StateJournal(StateDir& state, Engine& engine, std::function<Seq()> announced)
    : state_(state),
      engine_(engine),
      announced_(std::move(announced)),
      documents_(state.recovered().documents),
      position_(state.recovered().source_position) {}

std::optional<Seq> StateJournal::keep_from() const {
  return announced_ ? std::optional(announced_()) : std::nullopt;
}

absl::Status StateJournal::commit(const Batch& batch, const Resolved& resolved, std::string sink_position) {
  documents_ += batch.records.size();
  // Requests from outside are carried out with batches that hold nothing.
  if (!batch.position.empty()) position_ = batch.position;
  return state_.commit({.rows = resolved.rows,
                        .removed = resolved.removed_numbers(),
                        .lowest_live = resolved.lowest_live,
                        .source_position = position_,
                        .sink_position = std::move(sink_position),
                        .clock = engine_.clock(),
                        .documents = documents_,
                        .keep_from = keep_from()});
}

absl::Status StateJournal::commit_outputs(std::string sink_position) {
  const Recovered& recovered = state_.recovered();
  return state_.commit({.lowest_live = recovered.lowest_live,
                        .source_position = position_,
                        .sink_position = std::move(sink_position),
                        .clock = recovered.fresh ? engine_.clock() : recovered.clock,
                        .documents = documents_,
                        .keep_from = keep_from()});
}

}  // namespace doppel
