#pragma once
// Which record of each cluster is the best one: for `scan --best`. The index
// decides as ever what is a copy of what; here is chosen which of them is kept.
// Holds 24 bytes for each cluster of the run, and a bit for each record at the
// end.

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
  // "longest", "shortest" (by the text that is compared), "newest", "oldest"
  // (by its date), FIELD:max, FIELD:min (a number or a time). InvalidArgument:
  // it is none of these.
  static absl::StatusOr<std::unique_ptr<BestRows>> open(const std::string& best, const FormatOptions& format);

  // The batches of a run, in order. Of records of one cluster with the same
  // value the first one is best; one without a value is worse than all others.
  void add(const Decided& decided);
  // No more come. True for the records that are best, by their number in the
  // run.
  std::vector<bool> choose();
  // The field that must be read besides; empty: none.
  const std::string& field() const { return field_; }

 private:
  enum class By : uint8_t { length, date, field };
  struct Best {
    double value = 0;
    uint64_t record = 0;
    bool valued = false;
  };
  BestRows(By by, bool smaller, std::string field, FormatOptions format);
  // Nothing: it has none.
  std::optional<double> value_of(const Record& record);

  const By by_;
  const bool smaller_;
  const std::string field_;
  std::unique_ptr<Decoder> decoder_;
  absl::flat_hash_map<Seq, Best> best_;  // by original
  uint64_t records_ = 0;
};

// The second pass: hands each record of `source` to the sink, which keeps the
// chosen ones. It reads what the run has read: an error where that has changed.
absl::Status keep_chosen(Source& source, const std::vector<bool>& chosen, FilesSink& sink);

}  // namespace doppel
