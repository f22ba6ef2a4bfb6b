#include "formats/best.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/charconv.h"
#include "base/checksums.h"
#include "base/status.h"
#include "formats/decoder.h"

namespace doppel {
namespace {

// Parses a number, also in a string, or a time in a string, as milliseconds.
std::optional<double> number_of(std::string_view json) {
  const bool quoted = json.size() >= 2 && json.front() == '"';
  const std::string_view text = quoted ? json.substr(1, json.size() - 2) : json;
  double number = 0;
  const auto [end, error] = absl::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && std::isfinite(number)) return number;
  const std::optional<int64_t> time = quoted ? parse_time(text) : std::nullopt;
  return time ? std::optional(static_cast<double>(*time)) : std::nullopt;
}

}  // namespace

absl::StatusOr<Best> Best::parse(std::string_view text) {
  const uint32_t tag = crc32c(text);
  if (text == "longest" || text == "shortest") return Best(By::length, text == "shortest", tag);
  if (text == "newest" || text == "oldest") return Best(By::date, text == "oldest", tag);
  for (const auto& [end, smaller] : {std::pair(":max", false), std::pair(":min", true)}) {
    if (text.ends_with(end) && text.size() > 4)
      return Best(By::field, smaller, tag, std::string(text.substr(0, text.size() - 4)));
  }
  return invalid(
      fmt::format("\"{}\" is not one of longest, shortest, newest, oldest, FIELD:max, FIELD:min", text));
}

std::optional<double> Best::value_of(const Document& document) const {
  if (by_ == By::length) {
    if (document.text.empty()) return std::nullopt;  // it was not read
    const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; };
    return static_cast<double>(std::count_if(document.text.begin(), document.text.end(), begins));
  }
  if (by_ == By::date) {
    if (!document.timestamp_ms) return std::nullopt;
    return static_cast<double>(*document.timestamp_ms);
  }
  return document.best_field.empty() ? std::nullopt : number_of(document.best_field);
}

bool Best::better(std::optional<double> value, std::optional<double> than) const {
  if (!value) return false;
  return !than || (smaller_ ? *value < *than : *value > *than);
}

}  // namespace doppel
