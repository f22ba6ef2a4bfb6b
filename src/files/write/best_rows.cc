#include "files/write/best_rows.h"

#include "base/status.h"
#include "fmt/format.h"
#include "records/metadata.h"

namespace doppel {

void BestRows::add(const Decided& decided) {
  for (size_t i = 0; i < decided.batch.records.size(); ++i, ++records_) {
    const Outcome& outcome = decided.work.resolved.outcomes[i];
    if (outcome.verdict != Verdict::unique && outcome.verdict != Verdict::duplicate) continue;
    const std::optional<BestValue> its = best_of_metadata(decided.work.sign.documents[i].metadata);
    const std::optional<double> value = its ? its->value : std::nullopt;
    const auto [found, fresh] = best_.try_emplace(outcome.seq, Row{value, records_});
    if (!fresh && by_.better(value, found->second.value)) found->second = {value, records_};
  }
}

std::vector<bool> BestRows::choose() {
  std::vector<bool> out(records_);
  for (const auto& [seq, best] : best_) out[best.record] = true;
  best_.clear();
  return out;
}

absl::Status keep_chosen(Source& source, const std::vector<bool>& chosen, FilesSink& sink) {
  size_t number = 0;
  Batch batch;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, source.next(batch));
    if (!more) break;
    for (const Record& record : batch.records) {
      if (number == chosen.size()) break;
      RETURN_IF_ERROR(sink.keep(record, chosen[number++]));
    }
    RETURN_IF_ERROR(sink.flush());
  }
  if (number == chosen.size()) return absl::OkStatus();
  return absl::DataLossError(
      fmt::format("--best: {} records were judged, and {} are there when the "
                  "best ones are written: the input "
                  "has changed meanwhile",
                  chosen.size(), number));
}

}  // namespace doppel
