#pragma once
// An index that judges documents, without Kafka: `doppel scan`, `doppel serve` with files, Python, and the
// API for programs (include/doppel) open theirs here. A session owns the engine, the state directory, the
// indexes that it is compared with, and the segments of old originals. It commits batches, and finds
// originals by id.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "engine/engine.h"
#include "state/restore.h"
#include "state/segment_file.h"
#include "state/state_dir.h"

namespace doppel {

struct SessionOptions {
  // The scheme and the rule. The session takes the bands, and how many originals there may be, from the index
  // if that has others.
  EngineOptions engine;
  // The state directory; data scheme and rule are set here. Without a directory, the index ends with the
  // session.
  StateOptions state;
  StateDir::Supports supports = {};  // see StateDir::open()
  std::vector<std::string> against;  // directories of indexes that are only read
  uint64_t memory = 0;               // bytes of the index from which old originals move to disk; 0: never
  // Without a state directory, bodies are in a file in this directory (empty: $TMPDIR or /tmp). nullopt: they
  // are in memory.
  std::optional<std::string> temporary_directory = "";
  int threads = 1;  // that load the index
  // Called before anything is loaded; an error ends the opening.
  std::function<absl::Status(const Recovered&)> check = [](const Recovered&) { return absl::OkStatus(); };
  ReportProgress report = [](const RestoreProgress&) {};
};

class Session {
 public:
  // Errors: see Against::open() and StateDir::open(). FailedPrecondition also if the directory is the
  // snapshot of an index on Kafka.
  static absl::StatusOr<std::unique_ptr<Session>> open(SessionOptions options);

  Engine& engine() { return *engine_; }
  const Engine& engine() const { return *engine_; }
  // The bodies of all originals, including `against`.
  Bodies& bodies() { return *bodies_; }
  // The bodies of this index's own originals.
  Bodies& own_bodies() { return state_ != nullptr ? state_->bodies() : *temporary_; }
  StateDir* state() { return state_.get(); }  // nullptr: the index ends with the session
  // What the directory had at the start; without a directory, a fresh state.
  const Recovered& recovered() const { return recovered_; }
  uint64_t from_others() const { return against_->originals(); }  // originals of `against`
  // Live originals of this index.
  uint64_t own() const { return engine_->originals().stats().live - from_others(); }
  // Of the index, and of bodies that are in memory.
  uint64_t memory_bytes() const;
  // Documents that were committed, in all runs.
  uint64_t documents() const { return documents_; }

  // Makes a batch durable: the decisions, how many documents it had, and the positions of the source and the
  // outputs. Without a value, a position stays as it is. Originals from `keep_from` on are kept (nullopt: the
  // live ones). Without a directory, only counts.
  absl::Status commit(const Resolved& resolved, uint64_t documents,
                      std::optional<std::string> source_position = std::nullopt,
                      std::optional<std::string> sink_position = std::nullopt,
                      std::optional<Seq> keep_from = std::nullopt);
  // Commits only the lengths of the outputs. Only before the first batch.
  absl::Status commit_outputs(std::string sink_position, std::optional<Seq> keep_from = std::nullopt);
  absl::Status checkpoint() { return state_ != nullptr ? state_->checkpoint() : absl::OkStatus(); }

  // The tag of an id that a program gave a document.
  uint64_t tag(std::string_view id) const;
  // The live originals with this id, ascending. Those that another program inserted (doppel scan) have no tag
  // in the index, so the first search reads their names.
  absl::StatusOr<std::vector<Seq>> find(std::string_view id);
  // The id of an original: what its document was called, or its place.
  absl::StatusOr<std::string> name(Seq seq) const;

 private:
  Session() = default;
  absl::Status read_untagged();

  std::unique_ptr<Against> against_;
  std::unique_ptr<StateDir> state_;
  std::unique_ptr<Bodies> temporary_;
  bool bodies_in_memory_ = false;
  SegmentStores segments_;
  Recovered recovered_;
  Bodies* bodies_ = nullptr;
  std::unique_ptr<Engine> engine_;
  uint64_t documents_ = 0;
  std::string source_position_, sink_position_;  // of the last commit

  bool names_read_ = false;
  absl::flat_hash_map<std::string, std::vector<Seq>> untagged_;  // originals of other programs by name
};

}  // namespace doppel
