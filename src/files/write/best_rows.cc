#include "files/write/best_rows.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/status.h"
#include "fmt/format.h"

namespace doppel {
namespace {

constexpr std::string_view kLabel = "best";  // label of the field among the passthrough fields

// The number, also in a string, or a time in a string as milliseconds.
std::optional<double> number_of(std::string_view json) {
  if (json.size() >= 2 && json.front() == '"') {
    const std::string_view text = json.substr(1, json.size() - 2);
    if (const std::optional<int64_t> time = parse_time(text)) return static_cast<double>(*time);
    json = text;
  }
  double number = 0;
  const auto [end, error] = std::from_chars(json.data(), json.data() + json.size(), number);
  if (error != std::errc() || end != json.data() + json.size() || !std::isfinite(number)) return std::nullopt;
  return number;
}

}  // namespace

BestRows::BestRows(By by, bool smaller, std::string field, FormatOptions format)
    : by_(by), smaller_(smaller), field_(std::move(field)) {
  format.passthrough_fields.clear();
  if (by_ == By::field) format.passthrough_fields.push_back(fmt::format("{}={}", kLabel, field_));
  decoder_ = make_decoder(format);
}

absl::StatusOr<std::unique_ptr<BestRows>> BestRows::open(const std::string& best,
                                                         const FormatOptions& format) {
  const auto make = [&](By by, bool smaller, std::string field = {}) {
    return std::unique_ptr<BestRows>(new BestRows(by, smaller, std::move(field), format));
  };
  if (best == "longest" || best == "shortest") return make(By::length, best == "shortest");
  if (best == "newest" || best == "oldest") return make(By::date, best == "oldest");
  for (const auto& [end, smaller] : {std::pair(":max", false), std::pair(":min", true)}) {
    if (best.ends_with(end) && best.size() > 4)
      return make(By::field, smaller, best.substr(0, best.size() - 4));
  }
  return invalid(
      fmt::format("--best: \"{}\" is not one of longest, shortest, "
                  "newest, oldest, FIELD:max, FIELD:min",
                  best));
}

std::optional<double> BestRows::value_of(const Record& record) {
  Document document;
  if (record.pieces != nullptr) return std::nullopt;  // pieces can be read only once
  if (!decoder_->decode(record, document).ok()) return std::nullopt;
  if (by_ == By::length) {
    const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; };
    return static_cast<double>(std::count_if(document.text.begin(), document.text.end(), begins));
  }
  if (by_ == By::date) {
    if (!document.timestamp_ms) return std::nullopt;
    return static_cast<double>(*document.timestamp_ms);
  }
  const std::string_view fields = document.passthrough;  // "best":VALUE
  const size_t head = kLabel.size() + 3;
  return fields.size() > head ? number_of(fields.substr(head)) : std::nullopt;
}

void BestRows::add(const Decided& decided) {
  for (size_t i = 0; i < decided.batch.records.size(); ++i, ++records_) {
    const Outcome& outcome = decided.work.resolved.outcomes[i];
    if (outcome.verdict != Verdict::unique && outcome.verdict != Verdict::duplicate) continue;
    const std::optional<double> value = value_of(decided.batch.records[i]);
    const auto [found, fresh] = best_.try_emplace(outcome.seq);
    Best& best = found->second;
    const bool better =
        fresh || (value && (!best.valued || (smaller_ ? *value < best.value : *value > best.value)));
    if (better) best = {.value = value.value_or(0), .record = records_, .valued = value.has_value()};
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
