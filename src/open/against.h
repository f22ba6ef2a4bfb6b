#pragma once
// Indexes that are only read: their originals come before all others, so what is in one of them is a
// duplicate of it. They are loaded under the lowest numbers, and keep no ids: nothing that the stream says
// removes or replaces them. What is stored of a run knows nothing of these numbers; its own begin at 0.

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "config/options.h"
#include "engine/engine.h"
#include "state/restore_progress.h"
#include "state/state_dir.h"

namespace doppel {

class Against {
 public:
  // Of the setting `against`, which may name none. Locks each, shared. The engine's rule takes the
  // bands that they were made with. FailedPrecondition: made with other settings than the engine's, which it
  // names.
  static absl::StatusOr<std::unique_ptr<Against>> open(const Options& options, EngineOptions& engine);
  ~Against();

  uint64_t originals() const;
  // Who they are, for the rule of what is judged against them: a "name=value" line, if there are any.
  std::string describe() const;
  // These bodies, and theirs. As long as this and `own` live.
  Bodies& bodies(Bodies& own);

 private:
  friend absl::Status restore_engine(const Against& against, StateDir* state, Engine& engine, int threads,
                                     const ReportProgress& report);
  absl::Status restore_into(Engine& engine) const;

  struct Impl;
  explicit Against(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Loads these, and what an earlier run left in `state`, which may be nullptr, into the engine.
absl::Status restore_engine(
    const Against& against, StateDir* state, Engine& engine, int threads,
    const ReportProgress& report = [](const RestoreProgress&) {});

}  // namespace doppel
