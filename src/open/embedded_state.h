#pragma once
// The state directory without Kafka: it is the only copy of the index, and each batch ends with a commit that
// holds index, input and outputs together.

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

// `supports` as StateDir::open(); `sync_outputs` as StateOptions. The engine's rule takes from the index its
// bands, and how many originals it was made to hold. `also`: more lines of its rule.
absl::StatusOr<std::unique_ptr<StateDir>> open_embedded_state(const Options& options, EngineOptions& engine,
                                                              const StateDir::Supports& supports,
                                                              std::function<absl::Status()> sync_outputs,
                                                              const std::string& also = {});

// Pipeline::before_warc: the index records how pages in WARC files are read. Empty for nullptr.
std::function<absl::Status()> scheme_of_warc(StateDir* state, const FormatOptions& format);

// The state directory as the pipeline sees it.
class StateJournal final : public Journal {
 public:
  // `announced`: rows from there on are kept; without it, those that live.
  StateJournal(StateDir& state, Engine& engine, std::function<Seq()> announced = nullptr);
  absl::Status commit(const Batch& batch, const Resolved& resolved, std::string sink_position) override;
  // Commits the lengths of the outputs only.
  absl::Status commit_outputs(std::string sink_position);

 private:
  std::optional<Seq> keep_from() const;
  // Numbers of the stream are those of the directory, behind the originals of indexes that are only read.
  Seq stored(Seq seq) const;

  StateDir& state_;
  Engine& engine_;
  std::function<Seq()> announced_;
  uint64_t documents_;
  std::string position_;  // of the source, at the last commit: an empty batch need not give it
};

}  // namespace doppel
