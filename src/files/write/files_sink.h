#pragma once
// Writes the results of runs without Kafka: events, verdicts or clusters; the unique documents; the
// rejected ones.

#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "files/output_file.h"
#include "files/parquet/row_copy.h"
#include "files/write/text_cutter.h"
#include "files/write/verdict_table.h"
#include "pipeline/ends.h"
#include "pipeline/pipeline.h"
#include "records/events.h"

namespace doppel {

enum class FilesOutput {
  events,      // one event per duplicate
  all_events,  // and a short one for every other document
  verdicts,    // one line per document
  clusters,    // one line per original with duplicates, at the end
};

struct FilesSinkOptions {
  FilesOutput mode = FilesOutput::events;
  std::string output = "-";  // verdicts to a name in .parquet become a table
  std::string keep;          // file for unique lines, or (.parquet) rows; empty: none
  std::shared_ptr<parquet::KeptColumns> kept_columns;  // for rows: the columns that the source has found
  std::string
      keep_directory;       // instead of `keep`: one file per input below it; works only without a position
  std::string keep_files;   // directory for unique whole files
  std::string rejects;      // file for rejected lines
  bool sync = false;        // sync the files at each commit
  bool keep_later = false;  // write() keeps nothing; the caller calls keep()
  // If set, kept records, which have this format, are written without the bytes in Outcome::cut.
  std::optional<FormatOptions> cut;
  EventContext context;
  // Needed for original-removed events; both must outlive the sink. nullptr: no such events.
  const Engine* engine = nullptr;
  StoredOriginals* originals = nullptr;
  Seq lowest_live = 0;  // lowest live number of the loaded index
};

class FilesSink : public Sink {
 public:
  // `position` is an earlier run's, or empty. `report` receives messages about records and inputs.
  static absl::StatusOr<std::unique_ptr<FilesSink>> open(const FilesSinkOptions& options,
                                                         std::string_view position,
                                                         std::function<void(const std::string&)> report);
  // Returns an output that exists, is not empty, and is unknown to `position`; empty if there is none.
  static std::string foreign_output(const FilesSinkOptions& options, std::string_view position);
  // Returns InvalidArgument if `position` records bytes of an output that does not exist any more. `state`
  // is the state directory, for the message.
  static absl::Status check_outputs_are_there(const FilesSinkOptions& options, std::string_view position,
                                              const std::string& state);
  // Whether the run of `position` wrote to this file.
  static bool is_known(std::string_view position, const std::string& path);
  // Whether the outputs have at least the lengths in `position`.
  static bool supports(const FilesSinkOptions& options, std::string_view position);

  absl::Status write(const Decided& decided) override;
  // Call it with keep_later, for each record of the input in order. `kept` says whether to keep the record.
  absl::Status keep(const Record& record, bool kept);
  // Passes everything that was kept so far to the system. write() does so itself.
  absl::Status flush() { return hand_on(false); }
  std::string position() const override;
  // Makes everything that was written survive a power loss.
  absl::Status sync();
  // How many unique WARC records could not be kept, and a message about the first one.
  uint64_t not_kept() const { return not_kept_; }
  const std::string& first_not_kept() const { return first_not_kept_; }
  // The documents that were cut, the documents whose text became empty, and the bytes that were cut.
  struct Cut {
    uint64_t documents = 0, emptied = 0, bytes = 0;
  };
  const Cut& cut() const { return cut_; }
  // Whether removed originals still wait to be announced. A batch without documents announces more of them.
  bool has_more_to_write() const { return announced_ < lowest_live_; }
  // The removal of all originals below this number is announced, so they need not be stored any more.
  Seq announced() const { return announced_; }
  // Writes the clusters, if that is the mode, and completes all files.
  absl::Status finish();

 private:
  FilesSink(const FilesSinkOptions& options, std::function<void(const std::string&)> report)
      : options_(options), report_(std::move(report)) {}
  absl::Status ends(const Decided& decided);
  absl::Status write_better(const Decided& decided, const BetterCopy& better);
  absl::Status write_one(const Record& record, const SignedDocument& document, const Outcome& outcome);
  void append_result(const SignedDocument& document, const Metadata& metadata, const Metadata& original,
                     const Outcome& outcome);
  absl::Status keep_record(const Record& record);
  absl::Status keep_shorter(const Record& record, TextCutter::Shorter shorter,
                            std::span<const ByteRange> cut);
  absl::StatusOr<std::string> place_of_copy(const Record& record) const;
  absl::Status keep_warc(const Record& record);
  absl::Status keep_rows_of(std::string_view source);
  absl::Status keep_beside(const Record& record);
  absl::Status hand_on(bool to_disk);  // passes everything written so far to the system, or to the disk
  void add_to_cluster(const Metadata& document, const Metadata& original, const Outcome& outcome);

  struct Cluster {
    std::string head;     // JSON of the original
    std::string members;  // JSON, separated by commas
    size_t size = 0;
  };

  FilesSinkOptions options_;
  std::function<void(const std::string&)> report_;
  std::unique_ptr<OutputFile> output_, keep_, rejects_;
  std::unique_ptr<VerdictTable> table_;          // instead of output_
  std::unique_ptr<parquet::RowCopy> kept_rows_;  // instead of keep_
  std::unique_ptr<TextCutter> cutter_;
  std::string kept_source_;  // the input of keep_ (with keep_directory), or of the rows
  absl::flat_hash_map<std::string, std::string> kept_;  // path -> its source
  std::vector<Cluster> clusters_;                       // in the order of their first duplicates
  absl::flat_hash_map<Seq, size_t> cluster_of_;
  std::string line_;
  Cut cut_;
  uint64_t not_kept_ = 0;
  std::string first_not_kept_;
  // Keep_ contains the records that earlier runs kept, also originals that come again.
  bool keeps_on_ = false;
  Seq announced_ = 0, lowest_live_ = 0;
};

}  // namespace doppel
