#include "open/embedded_state.h"

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "open/setup.h"
#include "state/against.h"
#include "state/journal.h"

namespace doppel {

StateOptions state_options_of(const Options& o, const Rule& rule) {
  return {.directory = o.state_directory,
          .num_perm = o.num_perm,
          .mask_words = rule.banding.mask_words(),
          .fsync = o.fsync == "none"     ? Fsync::none
                   : o.fsync == "commit" ? Fsync::commit
                                         : Fsync::checkpoint,
          .checkpoint_documents = o.checkpoint_documents,
          .checkpoint_interval_ms = o.checkpoint_interval_ms,
          .snapshots = o.snapshots};
}

absl::StatusOr<std::unique_ptr<StateDir>> open_embedded_state(const Options& o, EngineOptions& engine,
                                                              const StateDir::Supports& supports,
                                                              std::function<absl::Status()> sync_outputs,
                                                              const std::string& also) {
  if (const std::optional<LastCommit> last = last_commit(o.state_directory))
    keep_banding(engine.rule, last->rule);
  StateOptions options = state_options_of(o, engine.rule);
  options.data_scheme = engine.scheme.describe();
  options.rule = describe_rule(engine.rule) + also;
  options.sync_outputs = std::move(sync_outputs);
  ASSIGN_OR_RETURN(std::unique_ptr<StateDir> state, StateDir::open(options, supports));
  take_room(engine.rule, state->recovered().rule);
  return state;
}

std::function<absl::Status()> scheme_of_pages(StateDir* state, const FormatOptions& format) {
  const std::string line = describe_pages(format);
  if (state == nullptr || line.empty()) return {};
  return [state, line] { return state->add_to_scheme(line); };
}

std::optional<BetterCopies> better_copies(const FormatOptions& format, const StateDir& state, Seq first_own) {
  const absl::StatusOr<Best> best = Best::parse(format.best);
  if (!best.ok()) return std::nullopt;
  return BetterCopies(*best, first_own,
                      [&state, first_own](Seq seq) { return state.shown(seq - first_own); });
}

StateJournal::StateJournal(StateDir& state, Engine& engine, std::function<Seq()> announced)
    : state_(state),
      engine_(engine),
      announced_(std::move(announced)),
      documents_(state.recovered().documents),
      position_(state.recovered().source_position) {}

std::optional<Seq> StateJournal::keep_from() const {
  if (!announced_) return std::nullopt;
  const Seq first = engine_.originals().first_own();
  return std::max(announced_(), first) - first;
}

absl::Status StateJournal::commit(const Batch& batch, const Resolved& resolved, std::string sink_position) {
  documents_ += batch.records.size();
  // A batch that only carries out requests from outside has no position.
  if (!batch.position.empty()) position_ = batch.position;
  Commit commit = own_commit(resolved, engine_.originals().first_own());
  commit.source_position = position_;
  commit.sink_position = std::move(sink_position);
  commit.clock = engine_.clock();
  commit.documents = documents_;
  commit.keep_from = keep_from();
  return state_.commit(commit);
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
