#pragma once
// What is written without Kafka: events, verdicts or clusters; the unique documents; the rejected ones.

#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "files/output_file.h"
#include "files/parquet/row_copy.h"
#include "files/write/verdict_table.h"
#include "pipeline/ends.h"
#include "pipeline/pipeline.h"
#include "records/events.h"

namespace doppel {

enum class FilesOutput {
  events,      // one for each duplicate
  all_events,  // and a small one for every other document
  verdicts,    // one line for each document
  clusters,    // one line for each original that has duplicates, at the end
};

struct FilesSinkOptions {
  FilesOutput mode = FilesOutput::events;
  std::string output = "-";  // of verdicts: .parquet is a table
  std::string keep;          // file for unique lines, or (.parquet) rows; empty: none
  std::shared_ptr<parquet::KeptColumns> kept_columns;  // of rows: what the source knows of their columns
  std::string keep_directory;  // in place of `keep`: a file below it for each input. Not with a position
  std::string keep_files;      // directory for unique whole files
  std::string rejects;         // file for rejected lines
  bool sync = false;           // sync the files at every commit
  bool keep_later = false;     // write() keeps nothing: keep() is told what
  EventContext context;
  // Needed to publish original-removed events; both outlive the sink. nullptr: none are published.
  const Engine* engine = nullptr;
  StoredOriginals* originals = nullptr;
  Seq lowest_live = 0;  // of the index as it was loaded
};

class FilesSink : public Sink {
 public:
  // `position` of an earlier run, or empty. `report` receives what is wrong with a record or an input, in
  // words.
  static absl::StatusOr<std::unique_ptr<FilesSink>> open(const FilesSinkOptions& options,
                                                         std::string_view position,
                                                         std::function<void(const std::string&)> report);
  // An output that is there, is not empty, and that `position` does not know; empty: none is.
  static std::string foreign_output(const FilesSinkOptions& options, std::string_view position);
  // InvalidArgument: `position` has bytes of an output that is not there any more. `state`: the directory.
  static absl::Status check_outputs_are_there(const FilesSinkOptions& options, std::string_view position,
                                              const std::string& state);
  // Whether `position` is of a run that wrote to this file.
  static bool is_known(std::string_view position, const std::string& path);
  // Whether the outputs are as long as `position` says.
  static bool supports(const FilesSinkOptions& options, std::string_view position);

  absl::Status write(const Decided& decided) override;
  // With keep_later: the next record of the input, and whether it is kept.
  absl::Status keep(const Record& record, bool kept);
  std::string position() const override;
  // Everything that was written survives a power loss.
  absl::Status sync();
  // Unique WARC records that could not be kept, and which was the first.
  uint64_t not_kept() const { return not_kept_; }
  const std::string& first_not_kept() const { return first_not_kept_; }
  // Removed originals that are not announced yet: a batch without documents announces more of them.
  bool has_more_to_write() const { return announced_ < lowest_live_; }
  // All originals before it are announced, so they need not be kept.
  Seq announced() const { return announced_; }
  // The clusters, if that was asked for.
  absl::Status finish();

 private:
  FilesSink(const FilesSinkOptions& options, std::function<void(const std::string&)> report)
      : options_(options), report_(std::move(report)) {}
  absl::Status ends(const Decided& decided);
  absl::Status write_one(const Record& record, const SignedDocument& document, const Outcome& outcome);
  absl::Status keep_record(const Record& record);
  absl::Status keep_warc(const Record& record);
  absl::Status keep_rows_of(std::string_view source);
  absl::Status keep_beside(const Record& record);
  absl::Status hand_on(bool to_disk);  // everything written so far: to the system, or to the disk
  void add_to_cluster(const Metadata& document, const Metadata& original, const Outcome& outcome);

  struct Cluster {
    std::string head;     // JSON of the original
    std::string members;  // JSON, comma separated
    size_t size = 0;
  };

  FilesSinkOptions options_;
  std::function<void(const std::string&)> report_;
  std::unique_ptr<OutputFile> output_, keep_, rejects_;
  std::unique_ptr<VerdictTable> table_;                 // in place of output_
  std::unique_ptr<parquet::RowCopy> kept_rows_;         // in place of keep_
  std::string kept_source_;                             // keep_directory: whose file keep_ is; or of the rows
  absl::flat_hash_map<std::string, std::string> kept_;  // path -> the source that it is of
  std::vector<Cluster> clusters_;                       // in the order of their first duplicate
  absl::flat_hash_map<Seq, size_t> cluster_of_;
  std::string line_;
  uint64_t not_kept_ = 0;
  std::string first_not_kept_;
  bool keeps_on_ = false;  // keep_ has what earlier runs kept: what is known again is in it
  Seq announced_ = 0, lowest_live_ = 0;
};

}  // namespace doppel
