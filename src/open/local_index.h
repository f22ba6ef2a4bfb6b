#pragma once
// An index without Kafka, from its settings to the engine that decides. `doppel scan`, `doppel serve` with
// files, and Python open theirs here.

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "config/options.h"
#include "engine/engine.h"
#include "state/against.h"
#include "state/old_segments.h"
#include "state/restore_progress.h"
#include "state/state_dir.h"

namespace doppel {

class LocalIndex {
 public:
  struct How {
    StateDir::Supports supports = {};                 // see StateDir::open()
    std::function<absl::Status()> sync_outputs = {};  // see StateOptions
    // Called before anything is loaded; an error ends the opening.
    std::function<absl::Status(const Recovered&)> check = [](const Recovered&) { return absl::OkStatus(); };
    ReportProgress report = [](const RestoreProgress&) {};
  };

  // Opens the indexes that `against` names, and the state directory or, without one, a file for the bodies of
  // this run; then loads them. `engine` is the result of engine_options().
  static absl::StatusOr<std::unique_ptr<LocalIndex>> open(const Options& options, EngineOptions engine,
                                                          const How& how);

  Engine& engine() { return *engine_; }
  // The bodies of all originals, including `against`.
  Bodies& bodies() { return *bodies_; }
  // The bodies of this index's own originals.
  Bodies& own_bodies() { return state_ != nullptr ? state_->bodies() : *temporary_; }
  StateDir* state() { return state_.get(); }  // nullptr: the index ends with this object
  // The state that the directory had; without a directory, a fresh one.
  const Recovered& recovered() const { return recovered_; }
  uint64_t from_others() const { return against_->originals(); }  // originals of `against`
  uint64_t own() const { return engine_->originals().stats().live - from_others(); }

 private:
  LocalIndex() = default;

  std::unique_ptr<Against> against_;
  std::unique_ptr<StateDir> state_;
  std::unique_ptr<Bodies> temporary_;
  SegmentStores segments_;  // with `memory`
  Recovered recovered_;
  Bodies* bodies_ = nullptr;
  std::unique_ptr<Engine> engine_;
};

}  // namespace doppel
