#pragma once
// The state directory of runs without Kafka. It is the only copy of the index. Each batch ends with a
// commit that covers index, input and outputs together.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "config/options.h"
#include "engine/engine.h"
#include "pipeline/pipeline.h"
#include "state/restore.h"
#include "state/state_dir.h"

namespace doppel {

// What the settings say about a state directory. Scheme and rule are the caller's.
StateOptions state_options_of(const Options& o, const Rule& rule);

// `supports` goes to StateDir::open(), `sync_outputs` to StateOptions, and `also` has additional lines of the
// rule. Sets the bands of the engine's rule, and how many originals it may hold, to the index's values.
absl::StatusOr<std::unique_ptr<StateDir>> open_embedded_state(const Options& options, EngineOptions& engine,
                                                              const StateDir::Supports& supports,
                                                              std::function<absl::Status()> sync_outputs,
                                                              const std::string& also = {});

// For Pipeline::before_pages: records in the index how pages in WARC files are read. Empty if there is no
// state or nothing to record.
std::function<absl::Status()> scheme_of_pages(StateDir* state, const FormatOptions& format);

// For Pipeline::better; nullopt: output.best is not set. The state must outlive the result.
std::optional<BetterCopies> better_copies(const FormatOptions& format, const StateDir& state, Seq first_own);

// Commits the batches of a pipeline to the state directory.
class StateJournal final : public Journal {
 public:
  // Rows from announced() on are kept; without it, the live ones.
  StateJournal(StateDir& state, Engine& engine, std::function<Seq()> announced = nullptr);
  absl::Status commit(const Batch& batch, const Resolved& resolved, std::string sink_position) override;
  // Commits only the lengths of the outputs. Only before the first batch.
  absl::Status commit_outputs(std::string sink_position);

 private:
  std::optional<Seq> keep_from() const;

  StateDir& state_;
  Engine& engine_;
  std::function<Seq()> announced_;
  uint64_t documents_;
  std::string position_;  // of the source at the last commit; a batch without records need not have one
};

}  // namespace doppel
