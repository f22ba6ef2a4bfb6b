#pragma once
// Finds the best record of each cluster, for `scan --best`. The index decides as usual which records are
// copies; this class only chooses which record of a cluster is kept. Takes 24 bytes per cluster of the run,
// and one bit per record at the end.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "files/write/files_sink.h"
#include "formats/decoder.h"
#include "pipeline/pipeline.h"

namespace doppel {

class BestRows {
 public:
  // `best` is "longest" or "shortest" (by the text that is compared), "newest" or "oldest" (by the date),
  // or FIELD:max or FIELD:min (a number or a time). InvalidArgument otherwise.
  static absl::StatusOr<std::unique_ptr<BestRows>> open(const std::string& best, const FormatOptions& format);

  // Adds the batches of a run in order. Of records with the same value, the first one of a cluster is best.
  // A record without a value is worse than all others.
  void add(const Decided& decided);
  // Call it once, after the last add(). Returns true for each record that is best, by its number in the
  // run.
  std::vector<bool> choose();
  // The field that must be read in addition; empty: none.
  const std::string& field() const { return field_; }

 private:
  enum class By : uint8_t { length, date, field };
  struct Best {
    double value = 0;
    uint64_t record = 0;
    bool valued = false;
  };
  BestRows(By by, bool smaller, std::string field, FormatOptions format);
  // The value to compare; nullopt if the record has none.
  std::optional<double> value_of(const Record& record);

  const By by_;
  const bool smaller_;
  const std::string field_;
  std::unique_ptr<Decoder> decoder_;
  absl::flat_hash_map<Seq, Best> best_;  // by the original's number
  uint64_t records_ = 0;
};

// The second pass: passes each record of `source` to the sink, which keeps the chosen ones. `source` must
// read the same input as the run did. It is an error if the input has changed.
absl::Status keep_chosen(Source& source, const std::vector<bool>& chosen, FilesSink& sink);

}  // namespace doppel
