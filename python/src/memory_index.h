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

#include "absl/status/statusor.h"
#include "config/options.h"
#include "embed/names.h"
#include "engine/engine.h"
#include "handed_rows.h"
#include "memory_stream.h"
#include "open/against.h"
#include "open/embedded_state.h"
#include "state/state_dir.h"

namespace doppel::python {

// What happens where the id of an original is given again.
enum class RepeatedIds { stored, refuse, allow, replace };  // stored: replace, where the index was made so

// What is given to add(). `ids` and `times_ms` may be empty.
struct Given {
  const std::vector<std::string_view>& texts;
  const std::vector<std::string_view>& ids;
  const std::vector<int64_t>& times_ms;
};

// A pass over files: where to go on.
struct PassBegun {
  uint64_t pass = 0;
  std::vector<int64_t> first_rows;    // per file: the first row that was not given; negative: all were
  std::vector<std::string> problems;  // what an earlier pass left unfinished and is gone
  // Rows that the program had in its hands when it was killed; nothing, or before first_rows of that file.
  std::optional<Handed> handed;
  size_t handed_file = 0;
};

struct IndexSettings {
  std::string config_file;                                // may be empty
  std::vector<std::pair<std::string, std::string>> sets;  // keys of doppel.yaml
  std::string hash_key;                                   // 32 hex digits; empty: as for doppel scan
  RepeatedIds repeated_ids = RepeatedIds::stored;
};

class MemoryIndex {
 public:
  // Asked between batches with how many documents are done: false ends the work after the batch at hand.
  using GoOn = std::function<bool(uint64_t done)>;

  static absl::StatusOr<std::unique_ptr<MemoryIndex>> open(const IndexSettings& settings);

  // Judges and keeps. InvalidArgument, and nothing is judged: lengths or ids that cannot be.
  // A document that was given before (the same id and text) has the verdict that it had then.
  absl::Status add(const Given& given, const GoOn& go_on, Verdicts& out);
  // The same for the rows of a table. Without ids, a row is known again by its number in the same table.
  absl::Status add_table(const Given& given, const GoOn& go_on, Verdicts& out);
  // The same for documents that sign_documents() has signed with this index's settings and hash key.
  absl::Status add_signed(const std::vector<std::string_view>& records, const GoOn& go_on, Verdicts& out);

  // Files that the program reads and gives row by row, from begin_files() to end_files(). `resume`: what the
  // directory knows to be given is left out; else everything is given, and what is known has its verdict. An
  // index has one pass at a time: a new one ends the one before (InvalidArgument).
  absl::StatusOr<PassBegun> begin_files(const std::vector<std::string>& paths, bool resume);
  // Rows come from this file now.
  absl::Status begin_file(uint64_t pass, size_t file);
  // Rows of it, from this one on. With the commit of the verdicts the rows are given.
  absl::Status add_rows(uint64_t pass, uint64_t first_row, const Given& given, const GoOn& go_on,
                        Verdicts& out);
  absl::Status end_file(uint64_t pass);
  absl::Status end_files(uint64_t pass);

  // Signed records of at most so many live originals, from this number on, in their order; the number that
  // follows them, or nothing: these were the last ones.
  absl::StatusOr<std::optional<Seq>> originals(Seq from, size_t most, TextBuffer& out);

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
  // The settings in force, as doppel.yaml has them.
  const std::vector<std::pair<std::string, std::string>>& settings() const { return settings_; }
  const Options& options() const { return options_; }
  const HashKey& hash_key() const { return engine_->options().scheme.key; }
  const std::vector<std::string>& notes() const { return notes_; }
  // Makes what is kept durable. Nothing without a directory.
  absl::Status checkpoint();

 private:
  MemoryIndex() = default;
  absl::Status open_state(EngineOptions& engine);
  absl::Status open_engine(EngineOptions& engine, Bodies& bodies);
  // Originals before are of indexes that are only read.
  Seq first_own() const { return engine_->originals().first_own(); }
  absl::Status run(Pipeline pipeline, size_t documents, const GoOn& go_on,
                   const std::vector<Seq>& forget = {});
  // What both ends of the pipeline are, for documents and for signed records.
  Pipeline texts_pipeline(const Documents& documents, Source& source, Sink& sink) const;
  Pipeline pipeline(Source& source, Sink& sink) const;
  absl::Status judge(const Documents& documents, KnownAgain& known_again, ColumnsSink& sink,
                     const GoOn& go_on);
  absl::Status check(const Given& given, const Documents& documents, Seq first);
  // Whether a document is the one that the original was made of.
  using IsSame = std::function<absl::StatusOr<bool>(size_t row, Seq original)>;
  absl::StatusOr<bool> is_original(Seq seq, const Digest& digest, std::string_view metadata);
  // An id that comes twice, or is in the index with another document: InvalidArgument.
  absl::Status check_ids(const std::vector<std::string_view>& ids, const IsSame& is_same);
  absl::Status check_pass(uint64_t pass) const;
  int threads_for(size_t documents) const;

  Options options_;
  std::vector<std::pair<std::string, std::string>> settings_;
  RepeatedIds repeated_ids_ = RepeatedIds::refuse;
  std::unique_ptr<StateDir> state_;  // none: the index ends with this object
  std::unique_ptr<Bodies> temporary_;
  std::unique_ptr<Against> against_;
  Bodies* bodies_ = nullptr;  // of all originals
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<StateJournal> journal_;
  std::unique_ptr<HandedRows> handed_;
  std::string source_position_;  // of the last commit
  std::unique_ptr<FilesPass> pass_;
  uint64_t passes_ = 0;        // how many have begun: the number of pass_
  bool pass_is_kept_ = false;  // its position is committed
  std::string sink_position_;
  uint64_t documents_ = 0;
  std::vector<std::string> notes_;
  std::unique_ptr<Names> names_;
};

}  // namespace doppel::python
