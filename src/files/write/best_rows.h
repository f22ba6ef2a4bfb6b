#pragma once
// Finds the best record of each cluster, for `scan --best`. The index decides as usual which records are
// copies; this class only chooses which record of a cluster is kept. Takes 24 bytes per cluster of the run,
// and one bit per record at the end.

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "files/write/files_sink.h"
#include "formats/best.h"
#include "pipeline/pipeline.h"

namespace doppel {

class BestRows {
 public:
  explicit BestRows(const Best& by) : by_(by) {}

  // Adds the batches of a run in order, whose format has the setting (FormatOptions::best). Of records with
  // the same value, the first one of a cluster is best. A record without a value is worse than all others.
  void add(const Decided& decided);
  // Call it once, after the last add(). Returns true for each record that is best, by its number in the
  // run.
  std::vector<bool> choose();

 private:
  struct Row {
    std::optional<double> value;
    uint64_t record = 0;
  };

  const Best by_;
  absl::flat_hash_map<Seq, Row> best_;  // by the original's number
  uint64_t records_ = 0;
};

// The second pass: passes each record of `source` to the sink, which keeps the chosen ones. `source` must
// read the same input as the run did. It is an error if the input has changed.
absl::Status keep_chosen(Source& source, const std::vector<bool>& chosen, FilesSink& sink);

}  // namespace doppel
