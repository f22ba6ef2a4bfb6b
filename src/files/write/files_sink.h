#pragma once
// Writes the results of runs without Kafka: events, verdicts or clusters; the unique documents; the
// rejected ones.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/resolved.h"
#include "files/output_file.h"
#include "files/parquet/file_writer.h"
#include "files/write/keeper.h"
#include "files/write/outputs.h"
#include "formats/best.h"
#include "pipeline/pipeline.h"

namespace doppel {

// Writes verdicts as a Parquet file: one row per document, with the columns of `Verdicts` in Python (id,
// verdict, original, similarity, kind, cluster).
class VerdictTable {
 public:
  // The file appears under its name only in finish().
  static absl::StatusOr<std::unique_ptr<VerdictTable>> open(const std::string& path);

  // `original` is the id of a duplicate's original.
  absl::Status add(std::string id, const Outcome& outcome, std::string original);
  absl::Status finish();

 private:
  struct Row {
    std::string id, original;
    Verdict verdict;
    Kind kind;
    std::optional<double> similarity;
  };

  explicit VerdictTable(std::unique_ptr<parquet::FileWriter> out) : out_(std::move(out)) {}
  absl::Status end_group();

  std::unique_ptr<parquet::FileWriter> out_;
  std::vector<Row> rows_;  // of the current row group
};

class FilesSink : public Sink {
 public:
  // `position` is an earlier run's, or empty. `report` receives messages about records and inputs.
  static absl::StatusOr<std::unique_ptr<FilesSink>> open(const FilesSinkOptions& options,
                                                         std::string_view position,
                                                         std::function<void(const std::string&)> report);

  absl::Status write(const Decided& decided) override;
  // Call it with keep_later, for each record of the input in order. `kept` says whether to keep the record.
  absl::Status keep(const Record& record, bool kept) { return keeper_->keep(record, kept); }
  // Passes everything that was kept so far to the system. write() does so itself.
  absl::Status flush() { return hand_on(false); }
  std::string position() const override;
  // Makes everything that was written survive a power loss.
  absl::Status sync();
  // What was kept.
  Keeper& keeper() { return *keeper_; }
  const Keeper& keeper() const { return *keeper_; }
  // Whether removed originals still wait to be announced. A batch without documents announces more of them.
  bool has_more_to_write() const { return announced_ < lowest_live_; }
  // The removal of all originals below this number is announced, so they need not be stored any more.
  Seq announced() const { return announced_; }
  // Writes the clusters, if that is the mode, and completes all files.
  absl::Status finish();

 private:
  FilesSink(const FilesSinkOptions& options, std::function<void(const std::string&)> report,
            std::unique_ptr<Keeper> keeper)
      : options_(options), report_(std::move(report)), keeper_(std::move(keeper)) {}
  absl::Status ends(const Decided& decided);
  absl::Status write_better(const Decided& decided, const BetterCopy& better);
  absl::Status write_one(const Record& record, const SignedDocument& document, const Outcome& outcome);
  void reject_input(std::string_view source, std::string_view message);
  void append_result(const SignedDocument& document, const Metadata& metadata, const Metadata& original,
                     const Outcome& outcome);
  absl::Status hand_on(bool to_disk);  // passes everything written so far to the system, or to the disk
  void add_to_cluster(const Metadata& document, const Metadata& original, const Outcome& outcome);

  struct Cluster {
    std::string head;     // JSON of the original
    std::string members;  // JSON, separated by commas
    size_t size = 0;
  };

  FilesSinkOptions options_;
  std::function<void(const std::string&)> report_;
  std::unique_ptr<Keeper> keeper_;
  std::unique_ptr<OutputFile> output_, rejects_;
  std::unique_ptr<VerdictTable> table_;  // instead of output_
  std::vector<Cluster> clusters_;        // in the order of their first duplicates
  absl::flat_hash_map<Seq, size_t> cluster_of_;
  std::string line_;
  Seq announced_ = 0, lowest_live_ = 0;
};

// Finds the best record of each cluster, for `scan --best`. The index decides as usual which records are
// copies; this class only chooses which record of a cluster is kept. Takes 24 bytes per cluster of the run,
// and one bit per record at the end.
class BestRows {
 public:
  // times_of_files: a whole file without a value has the time at which it was written, in milliseconds.
  BestRows(const Best& by, bool times_of_files) : by_(by), times_of_files_(times_of_files) {}

  // Adds the batches of a run in order, whose format has the setting (FormatOptions::best). Of records with
  // the same value, the first one of a cluster is best. A record without a value is worse than all others.
  void add(const Decided& decided);
  // Call it once, after the last add(). Returns true for each record that is best, by its number in the
  // run.
  std::vector<bool> choose();
  // The field that documents are chosen by, if none of them has a value there; else empty.
  std::string missing_field() const { return any_value_ || records_ == 0 ? "" : by_.field(); }

 private:
  struct Row {
    std::optional<double> value;
    uint64_t record = 0;
  };

  const Best by_;
  const bool times_of_files_;
  absl::flat_hash_map<Seq, Row> best_;  // by the original's number
  uint64_t records_ = 0;
  bool any_value_ = false;
};

// The second pass: passes each record of `source` to the sink, which keeps the chosen ones. `source` must
// read the same input as the run did. It is an error if the input has changed.
absl::Status keep_chosen(Source& source, const std::vector<bool>& chosen, FilesSink& sink);

}  // namespace doppel
