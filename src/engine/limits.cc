#include "engine/limits.h"

#include <array>
#include <charconv>
#include <string>

#include "base/status.h"

namespace doppel {
namespace {

constexpr double kMillion = 1e6;

// The shortest digits that represent the value.
std::string digits(double value, std::chars_format format) {
  std::array<char, 400> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format);
  return error == std::errc() ? std::string(buffer.data(), end) : std::string("this");
}

absl::Status not_in(std::string_view name, const std::string& value, const Limit& limit) {
  return invalid(std::string(name) + ": " + value + " is not " + range_of(limit));
}

}  // namespace

std::string range_of(const Limit& limit) {
  const auto shown = [&](int64_t value) {
    return limit.unit == Limit::Unit::millionth
               ? digits(static_cast<double>(value) / kMillion, std::chars_format::fixed)
               : std::to_string(value);
  };
  return "between " + shown(limit.least) + " and " + shown(limit.most);
}

absl::Status within(const Limit& limit, int64_t value, std::string_view name) {
  if (value >= limit.least && value <= limit.most) return absl::OkStatus();
  return not_in(name.empty() ? limit.name : name, std::to_string(value), limit);
}

absl::Status within_tables(int64_t bands, int64_t shards) {
  if (bands * shards <= limits::kTablesMost) return absl::OkStatus();
  return invalid(std::to_string(bands) + " bands in " + std::to_string(shards) + " shards need " +
                 std::to_string(bands * shards) + " tables, and at most " +
                 std::to_string(limits::kTablesMost) + " are possible");
}

absl::Status within_number(const Limit& limit, double value) {
  const double least = static_cast<double>(limit.least) / kMillion;
  const double most = static_cast<double>(limit.most) / kMillion;
  if (value >= least && value <= most) return absl::OkStatus();
  return not_in(limit.name, digits(value, std::chars_format::general), limit);
}

}  // namespace doppel
