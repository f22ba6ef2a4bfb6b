#include "formats/schema/json_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

#include "formats/decoder.h"

namespace doppel {
namespace {

constexpr int64_t kDay = 86'400;
constexpr int64_t kFirstSecond = -62'135'596'800, kLastSecond = 253'402'300'799;  // years 1 to 9999
constexpr size_t kMostDecimal = 64;                                               // bytes
constexpr uint32_t kMostScale = 1000;

template <typename Real>
void append_real(std::string& out, Real value) {
  if (std::isfinite(value)) {
    fmt::format_to(std::back_inserter(out), "{}", value);
  } else {
    out += std::isnan(value) ? "\"NaN\"" : value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  }
}

// Quotient and remainder, rounded down.
std::pair<int64_t, int64_t> parts(int64_t value, int64_t by) {
  const int64_t rest = (value % by + by) % by;
  return {value / by - (value % by < 0 ? 1 : 0), rest};
}

int digits_of(uint32_t per_second) { return per_second == 1000 ? 3 : per_second == 1'000'000 ? 6 : 9; }

}  // namespace

void append_json_integer(std::string& out, int64_t value) {
  const fmt::format_int text(value);
  out.append(text.data(), text.size());
}

void append_json_real(std::string& out, float value) { append_real(out, value); }
void append_json_real(std::string& out, double value) { append_real(out, value); }

void append_json_base64(std::string& out, std::string_view bytes) {
  static constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  out += "{\"base64\":\"";
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t some = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k) group = group << 8 | (k < some ? static_cast<uint8_t>(bytes[i + k]) : 0U);
    for (size_t k = 0; k < 4; ++k) out += k <= some ? kAlphabet[group >> (18 - 6 * k) & 63] : '=';
  }
  out += "\"}";
}

void append_json_date(std::string& out, int64_t days) {
  if (days < kFirstSecond / kDay || days > kLastSecond / kDay) return append_json_integer(out, days);
  out += '"';
  out.append(format_time(days * kDay * 1000), 0, 10);
  out += '"';
}

void append_json_time_of_day(std::string& out, int64_t value, uint32_t per_second) {
  const auto [seconds, rest] = parts(value, per_second);
  if (seconds < 0 || seconds >= kDay) return append_json_integer(out, value);
  fmt::format_to(std::back_inserter(out), "\"{:02}:{:02}:{:02}.{:0{}}\"", seconds / 3600, seconds / 60 % 60,
                 seconds % 60, rest, digits_of(per_second));
}

void append_json_timestamp(std::string& out, int64_t value, uint32_t per_second, bool utc) {
  const auto [seconds, rest] = parts(value, per_second);
  if (seconds < kFirstSecond || seconds > kLastSecond) return append_json_integer(out, value);
  std::string text = format_time(seconds * 1000);
  text.pop_back();
  fmt::format_to(std::back_inserter(out), "\"{}.{:0{}}{}\"", text, rest, digits_of(per_second),
                 utc ? "Z" : "");
}

void append_json_uuid(std::string& out, std::string_view bytes) {
  out += '"';
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) out += '-';
    fmt::format_to(std::back_inserter(out), "{:02x}", static_cast<uint8_t>(bytes[i]));
  }
  out += '"';
}

bool append_json_decimal(std::string& out, std::string_view bytes, uint32_t scale) {
  if (bytes.size() > kMostDecimal || scale > kMostScale) return false;
  const bool negative = !bytes.empty() && (static_cast<uint8_t>(bytes[0]) & 0x80) != 0;
  std::vector<uint8_t> rest(bytes.begin(), bytes.end());
  if (negative) {
    unsigned carry = 1;
    for (size_t i = rest.size(); i-- > 0;) {
      const unsigned sum = (~rest[i] & 0xffU) + carry;
      rest[i] = static_cast<uint8_t>(sum);
      carry = sum >> 8;
    }
  }
  std::string digits;  // the last one first
  while (std::any_of(rest.begin(), rest.end(), [](uint8_t byte) { return byte != 0; })) {
    unsigned remainder = 0;
    for (uint8_t& byte : rest) {
      const unsigned part = remainder << 8 | byte;
      byte = static_cast<uint8_t>(part / 10);
      remainder = part % 10;
    }
    digits += static_cast<char>('0' + remainder);
  }
  while (digits.size() <= scale) digits += '0';
  if (scale > 0) digits.insert(scale, ".");
  if (negative) digits += '-';
  out += '"';
  out.append(digits.rbegin(), digits.rend());
  out += '"';
  return true;
}

}  // namespace doppel
