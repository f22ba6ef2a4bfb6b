#pragma once
// An index that a program feeds: the state directory, engine and pipeline of `doppel scan --state`, with
// documents from memory and verdicts as columns. Independent of Python.
//
// Not thread-safe. After an error of a call that changes it, except InvalidArgument, it must not be used
// any more; what was committed is safe in the directory.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "config/options.h"
#include "engine/engine.h"
#include "handed_rows.h"
#include "memory_stream.h"
#include "open/setup.h"
#include "pipeline/sign_record.h"
#include "session/stages.h"
#include "state/state_dir.h"

namespace doppel::python {

// What happens if the id of an original comes again.
enum class RepeatedIds {
  stored,
  refuse,
  allow,
  replace
};  // stored: replace if the index was made so, else refuse

// The arguments of add(). `ids` and `times_ms` may be empty.
struct Given {
  const std::vector<std::string_view>& texts;
  const std::vector<std::string_view>& ids;
  const std::vector<int64_t>& times_ms;
};

// A new pass over files, and where it continues.
struct PassBegun {
  uint64_t pass = 0;
  std::vector<int64_t> first_rows;    // per file: the first row that was not given; negative: all were
  std::vector<std::string> problems;  // about files that an earlier pass left unfinished and that are gone
  // Rows that the program was processing when it was killed, directly before first_rows of that file; or
  // nullopt.
  std::optional<Handed> handed;
  size_t handed_file = 0;
};

struct IndexSettings {
  std::string config_file;                                // may be empty
  std::vector<std::pair<std::string, std::string>> sets;  // keys of doppel.yaml
  std::string hash_key;                                   // 32 hex digits; empty: as in `doppel scan`
  RepeatedIds repeated_ids = RepeatedIds::stored;
};

class MemoryIndex {
 public:
  // Called between batches with the number of finished documents; false ends the work after the current
  // batch.
  using GoOn = std::function<bool(uint64_t done)>;

  static absl::StatusOr<std::unique_ptr<MemoryIndex>> open(const IndexSettings& settings);

  // Judges documents and keeps originals. InvalidArgument: the lengths or ids are invalid, and nothing was
  // judged. A document that was given before (with the same id and text) gets the verdict that it had.
  absl::Status add(const Given& given, const GoOn& go_on, Verdicts& out);
  // The same for the rows of a table. Without ids, a row is recognised by its number in the same table.
  absl::Status add_table(const Given& given, const GoOn& go_on, Verdicts& out);
  // The same for documents that were signed by sign_documents() with this index's settings and hash key.
  absl::Status add_signed(const std::vector<std::string_view>& records, const GoOn& go_on, Verdicts& out);

  // Begins a pass over files whose rows the program reads and gives, until end_files(). `resume`: skips
  // rows that the directory knows; otherwise all rows are given, and known ones get the verdicts that they
  // had. An index has one pass at a time: a new one ends the previous one, whose calls then return
  // InvalidArgument.
  absl::StatusOr<PassBegun> begin_files(const std::vector<std::string>& paths, bool resume);
  // The next rows come from this file.
  absl::Status begin_file(uint64_t pass, size_t file);
  // Adds rows of the current file, starting at `first_row`. The commit of their verdicts also records the
  // rows as given.
  absl::Status add_rows(uint64_t pass, uint64_t first_row, const Given& given, const GoOn& go_on,
                        Verdicts& out);
  absl::Status end_file(uint64_t pass);
  absl::Status end_files(uint64_t pass);

  // Appends signed records of up to `most` live originals, from number `from` on, in order. Returns the
  // next number, or nullopt if these were the last ones.
  absl::StatusOr<std::optional<Seq>> originals(Seq from, size_t most, TextBuffer& out);

  // Judges each document against the index as it is, and keeps nothing.
  absl::Status query(const std::vector<std::string_view>& texts, const GoOn& go_on, Verdicts& out);
  // The originals that are most similar to each document (Stages::nearest()).
  struct Near {
    std::string id;
    double similarity = 0;
  };
  absl::Status nearest(const std::vector<std::string_view>& texts, size_t most, const GoOn& go_on,
                       std::vector<std::vector<Near>>& out);
  // Removes the originals with these ids; returns how many there were.
  absl::StatusOr<uint64_t> remove(const std::vector<std::string_view>& ids);
  // Whether an original with this id is kept.
  absl::StatusOr<bool> contains(std::string_view id);

  uint64_t size() const;                                        // originals that are kept
  uint64_t documents() const { return session_->documents(); }  // given so far, in all runs
  uint64_t memory_bytes() const;
  uint64_t disk_bytes() const;
  // The settings in force, in the syntax of doppel.yaml.
  const std::vector<std::pair<std::string, std::string>>& settings() const { return settings_; }
  const Options& options() const { return options_; }
  const HashKey& hash_key() const { return engine_->options().scheme.key; }
  const std::vector<std::string>& notes() const { return session_->recovered().notes; }
  // Makes the index durable. Does nothing without a directory.
  absl::Status checkpoint();

 private:
  MemoryIndex() = default;
  // Originals below this belong to indexes that are only read.
  Seq first_own() const { return engine_->originals().first_own(); }
  absl::Status run(Pipeline pipeline, size_t documents, const GoOn& go_on,
                   const std::vector<Seq>& forget = {});
  // The pipelines for documents and for signed records.
  // Signs the texts batch by batch, and calls `ask` with each.
  absl::Status each_signed(
      const std::vector<std::string_view>& texts, const GoOn& go_on,
      const std::function<absl::Status(Stages&, Work&, const Batch&, RecordSigner&)>& ask) const;
  Pipeline texts_pipeline(const Documents& documents, Source& source, Sink& sink) const;
  Pipeline pipeline(Source& source, Sink& sink) const;
  absl::Status judge(const Documents& documents, SameDocuments& same_documents, ColumnsSink& sink,
                     const GoOn& go_on);
  absl::Status check(const Given& given, const Documents& documents, Seq first);
  // Whether the document in a row is the one of an original.
  using IsSame = std::function<absl::StatusOr<bool>(size_t row, Seq original)>;
  absl::StatusOr<bool> is_original(Seq seq, const Digest& digest, std::string_view metadata);
  // InvalidArgument if an id comes twice, or is in the index with another document.
  absl::Status check_ids(const std::vector<std::string_view>& ids, const IsSame& is_same);
  absl::Status check_pass(uint64_t pass) const;
  int threads_for(size_t documents) const;

  Options options_;
  std::vector<std::pair<std::string, std::string>> settings_;
  RepeatedIds repeated_ids_ = RepeatedIds::refuse;
  std::unique_ptr<Session> session_;
  Engine* engine_ = nullptr;  // of session_
  std::unique_ptr<SessionJournal> journal_;
  std::unique_ptr<HandedRows> handed_;
  std::string source_position_;  // of the last commit
  std::unique_ptr<FilesPass> pass_;
  uint64_t passes_ = 0;        // passes begun so far; the number of pass_
  bool pass_is_kept_ = false;  // its position is committed
  std::string sink_position_;
};

}  // namespace doppel::python
