#pragma once
// An index that a program feeds: the state directory, the engine and the pipeline of `doppel scan --state`,
// with documents from memory and verdicts into columns. Knows nothing of Python.
//
// Not for use by two threads at once. After an error of add() or remove() that was no InvalidArgument it is
// not to be used further; what was committed is safe in the directory.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "config/options.h"
#include "engine/engine.h"
#include "memory_stream.h"
#include "serve/embedded_state.h"
#include "state/state_dir.h"

namespace doppel::python {

// What happens where the id of an original is given again.
enum class RepeatedIds { refuse, allow, replace };

struct IndexSettings {
  std::string config_file;                                // may be empty
  std::vector<std::pair<std::string, std::string>> sets;  // keys of doppel.yaml
  std::string hash_key;                                   // 32 hex digits; empty: as for doppel scan
  RepeatedIds repeated_ids = RepeatedIds::refuse;
};

class MemoryIndex {
 public:
  // Asked between batches with how many documents are done: false ends the work after the batch at hand.
  using GoOn = std::function<bool(uint64_t done)>;

  static absl::StatusOr<std::unique_ptr<MemoryIndex>> open(const IndexSettings& settings);

  // Judges and keeps. InvalidArgument, and nothing is judged: lengths or ids that cannot be.
  absl::Status add(const std::vector<std::string_view>& texts, const std::vector<std::string_view>& ids,
                   const std::vector<int64_t>& times_ms, const GoOn& go_on, Verdicts& out);
  // The same for documents that sign_documents() has signed with this index's settings and hash key.
  absl::Status add_signed(const std::vector<std::string_view>& records, const GoOn& go_on, Verdicts& out);
  // Judges each against the index as it is, and keeps nothing.
  absl::Status query(const std::vector<std::string_view>& texts, const GoOn& go_on, Verdicts& out);
  // How many originals are forgotten that were added under these ids.
  absl::StatusOr<uint64_t> remove(const std::vector<std::string_view>& ids);
  // Whether an original of this id is kept.
  absl::StatusOr<bool> contains(std::string_view id);

  uint64_t size() const;                             // originals that are kept
  uint64_t documents() const { return documents_; }  // given so far, in all runs
  uint64_t memory_bytes() const;
  uint64_t disk_bytes() const;
  const Options& options() const { return options_; }
  const HashKey& hash_key() const { return engine_->options().scheme.key; }
  const std::vector<std::string>& notes() const { return notes_; }
  // Makes what is kept durable. Nothing without a directory.
  absl::Status checkpoint();

 private:
  MemoryIndex() = default;
  absl::Status open_state(EngineOptions& engine);
  absl::Status run(Pipeline pipeline, size_t documents, const GoOn& go_on,
                   const std::vector<Seq>& forget = {});
  // What both ends of the pipeline are, for documents and for signed records.
  Pipeline texts_pipeline(const Documents& documents, Source& source, Sink& sink) const;
  Pipeline pipeline(Source& source, Sink& sink) const;
  // An id that comes twice, or is in the index: InvalidArgument.
  absl::Status check_ids(const std::vector<std::string_view>& ids);
  absl::Status name_untagged();
  std::vector<Seq> find(std::string_view id) const;
  int threads_for(size_t documents) const;

  Options options_;
  RepeatedIds repeated_ids_ = RepeatedIds::refuse;
  std::unique_ptr<StateDir> state_;  // none: the index ends with this object
  std::unique_ptr<Bodies> temporary_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<StateJournal> journal_;
  std::string sink_position_;
  uint64_t documents_ = 0;
  std::vector<std::string> notes_;
  // Originals that came another way (doppel scan) have no tag to be found by: made when an id is looked for.
  Seq untagged_end_ = 0;
  bool untagged_named_ = false;
  absl::flat_hash_map<std::string, std::vector<Seq>> untagged_;
};

}  // namespace doppel::python
