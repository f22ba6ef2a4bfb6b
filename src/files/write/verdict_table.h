#pragma once
// Verdicts as a Parquet file: a row for each document, with the columns of `Verdicts` in Python (id, verdict,
// original, similarity, kind, cluster).

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
  // Nothing is there under the name before finish().
  static absl::StatusOr<std::unique_ptr<VerdictTable>> open(const std::string& path);

  // `original`: the id of what a duplicate repeats.
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
  std::vector<Row> rows_;  // of the row group at hand
};

}  // namespace doppel
