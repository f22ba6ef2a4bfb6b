#include "serve/embedded_state.h"

#include <utility>

#include "base/status.h"

namespace doppel {

absl::StatusOr<std::unique_ptr<StateDir>> open_embedded_state(const Options& o, const EngineOptions& engine,
                                                              const StateDir::Supports& supports,
                                                              std::function<absl::Status()> sync_outputs) {
  StateOptions options{.directory = o.state_directory,
                       .data_scheme = engine.scheme.describe(),
                       .rule = describe_rule(engine.rule),
                       .num_perm = o.num_perm,
                       .mask_words = (engine.rule.banding.bands + 31) / 32,
                       .fsync = o.fsync == "none"     ? Fsync::none
                                : o.fsync == "commit" ? Fsync::commit
                                                      : Fsync::checkpoint,
                       .checkpoint_documents = o.checkpoint_documents,
                       .checkpoint_interval_ms = o.checkpoint_interval_ms,
                       .snapshots = o.snapshots,
                       .sync_outputs = std::move(sync_outputs)};
  return StateDir::open(options, supports);
}

absl::Status load_rows_into(StateDir& state, Engine& engine, const TellProgress& tell) {
  constexpr uint64_t kTellEvery = 1 << 16;
  const uint64_t total = state.recovered().next_seq - state.recovered().first_row;
  uint64_t done = 0;
  tell({"loading the snapshot", 0, total});
  return state.load_rows([&](const StoredRow& row) {
    engine.restore(row);
    if (++done % kTellEvery == 0) tell({"loading the snapshot", done, total});
  });
}

absl::Status restore_engine(StateDir& state, Engine& engine, int threads, const TellProgress& tell) {
  const Recovered& recovered = state.recovered();
  RETURN_IF_ERROR(engine.start_restore(recovered.first_row, recovered.lowest_live, recovered.clock));
  RETURN_IF_ERROR(load_rows_into(state, engine, tell));
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
  // Wishes from outside are carried out with batches that hold nothing.
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
