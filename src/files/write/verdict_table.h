#pragma once
// Writes verdicts as a Parquet file: one row per document, with the columns of `Verdicts` in Python (id,
// verdict, original, similarity, kind, cluster).

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/resolved.h"
#include "files/parquet/file_writer.h"

namespace doppel {

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

}  // namespace doppel
