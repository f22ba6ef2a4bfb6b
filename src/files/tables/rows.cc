#include "files/tables/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <iterator>
#include <vector>

#include "base/bytes.h"
#include "base/strings.h"

namespace doppel::tables {

namespace {

constexpr int64_t kDayOf1970 = 2'440'588;  // as a Julian day
constexpr int64_t kSecondsOfDay = 86'400;
constexpr int64_t kMostDays = 11'000'000;  // more than 9999 years have; std::chrono can represent them
constexpr int64_t kNanos = 1'000'000'000;

// Appends a date from days since 1970. Returns false if the year is not 0 to 9999.
bool append_date(int64_t days, std::string& out) {
  using namespace std::chrono;
  if (days < -kMostDays || days > kMostDays) return false;
  const year_month_day date{sys_days{std::chrono::days{days}}};
  if (!date.ok() || int(date.year()) < 0 || int(date.year()) > 9999) return false;
  fmt::format_to(std::back_inserter(out), "{:04}-{:02}-{:02}", int(date.year()), unsigned(date.month()),
                 unsigned(date.day()));
  return true;
}

// Appends seconds since midnight, with 0, 3, 6 or 9 digits of the nanoseconds.
void append_clock(int64_t second, int64_t nanos, std::string& out) {
  fmt::format_to(std::back_inserter(out), "{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60);
  if (nanos % 1'000'000 == 0 && nanos != 0) {
    fmt::format_to(std::back_inserter(out), ".{:03}", nanos / 1'000'000);
  } else if (nanos % 1000 == 0 && nanos != 0) {
    fmt::format_to(std::back_inserter(out), ".{:06}", nanos / 1000);
  } else if (nanos != 0) {
    fmt::format_to(std::back_inserter(out), ".{:09}", nanos);
  }
}

// Appends seconds since 1970 with nanoseconds, or null if no date has them.
void append_time(int64_t seconds, int64_t nanos, bool utc, std::string& out) {
  int64_t days = seconds / kSecondsOfDay, second = seconds % kSecondsOfDay;
  if (second < 0) {
    second += kSecondsOfDay;
    --days;
  }
  const size_t begin = out.size();
  out += '"';
  if (!append_date(days, out)) {
    out.resize(begin);
    out += "null";
    return;
  }
  out += 'T';
  append_clock(second, nanos, out);
  out += utc ? "Z\"" : "\"";
}

// Appends a time in units since 1970; a second has `units` of them.
void append_since_1970(int64_t number, int64_t units, bool utc, std::string& out) {
  int64_t seconds = number / units, rest = number % units;
  if (rest < 0) {
    rest += units;
    --seconds;
  }
  append_time(seconds, rest * (kNanos / units), utc, out);
}

void append_int96(std::string_view bytes, bool utc, std::string& out) {
  const auto nanos = load<int64_t>(bytes.data());
  const auto day = load<int32_t>(bytes.data() + sizeof nanos);
  const int64_t seconds = (day - kDayOf1970) * kSecondsOfDay;
  int64_t rest = nanos % kNanos, more = nanos / kNanos;
  if (rest < 0) {
    rest += kNanos;
    --more;
  }
  append_time(seconds + more, rest, utc, out);
}

void append_uuid(std::string_view bytes, std::string& out) {
  out += '"';
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) out += '-';
    fmt::format_to(std::back_inserter(out), "{:02x}", static_cast<uint8_t>(bytes[i]));
  }
  out += '"';
}

// The shortest form that parses to the same number. JSON has no infinity.
template <typename T>
void append_real(T value, std::string& out) {
  if (std::isfinite(value)) {
    fmt::format_to(std::back_inserter(out), "{}", value);
  } else {
    out += "null";
  }
}

// IEEE half precision: a sign, five bits of exponent, ten of mantissa.
float half_of(uint16_t bits) {
  const int exponent = bits >> 10 & 0x1f;
  const auto mantissa = static_cast<float>(bits & 0x3ff);
  const float sign = (bits & 0x8000) != 0 ? -1.0F : 1.0F;
  if (exponent == 0x1f) return mantissa == 0 ? sign * INFINITY : NAN;
  return sign * (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(mantissa + 1024, exponent - 25));
}

// `bytes` are in two's complement, the highest byte first.
std::string decimal_digits(std::string_view bytes, bool& negative) {
  std::vector<uint32_t> limbs;  // the lowest one first
  negative = !bytes.empty() && (bytes.front() & 0x80) != 0;
  uint32_t carry = negative ? 1 : 0;
  for (size_t end = bytes.size(); end > 0;) {
    const size_t begin = end < sizeof(uint32_t) ? 0 : end - sizeof(uint32_t);
    uint32_t limb = negative ? ~uint32_t{0} : 0;
    for (size_t i = begin; i < end; ++i) limb = limb << 8 | static_cast<uint8_t>(bytes[i]);
    if (negative) {
      limb = ~limb + carry;
      carry = carry != 0 && limb == 0 ? 1 : 0;
    }
    limbs.push_back(limb);
    end = begin;
  }
  constexpr uint32_t kBillion = 1'000'000'000;
  std::string out;
  while (!limbs.empty()) {
    uint64_t rest = 0;
    for (size_t i = limbs.size(); i > 0; --i) {
      rest = rest << 32 | limbs[i - 1];
      limbs[i - 1] = static_cast<uint32_t>(rest / kBillion);
      rest %= kBillion;
    }
    while (!limbs.empty() && limbs.back() == 0) limbs.pop_back();
    std::string digits = fmt::format("{:09}", rest);
    out.insert(0, digits);
  }
  out.erase(0, std::min(out.find_first_not_of('0'), out.size()));
  return out;
}

// A string, to keep all digits: many JSON parsers read numbers as doubles.
void append_decimal(const Column& column, const Cell& cell, std::string& out) {
  constexpr size_t kMostBytes = 64;
  std::string bytes(cell.bytes.substr(0, kMostBytes + 1));
  if (bytes.size() > kMostBytes) {
    out += "null";
    return;
  }
  if (column.stored == Stored::int32 || column.stored == Stored::int64) {
    put_fixed(bytes, cell.number);
    std::reverse(bytes.begin(), bytes.end());
  } else if (column.low_first) {
    std::reverse(bytes.begin(), bytes.end());
  }
  bool negative = false;
  std::string digits = decimal_digits(bytes, negative);
  if (column.scale < 0 && !digits.empty()) digits.append(static_cast<size_t>(-column.scale), '0');
  const auto behind = static_cast<size_t>(std::max(column.scale, 0));
  if (digits.size() <= behind) digits.insert(0, behind + 1 - digits.size(), '0');
  out += negative ? "\"-" : "\"";
  out.append(digits, 0, digits.size() - behind);
  if (behind > 0) {
    out += '.';
    out.append(digits, digits.size() - behind);
  }
  out += '"';
}

// Appends a time since midnight, in units of 10^-scale seconds.
void append_time_of_day(int64_t number, int32_t scale, std::string& out) {
  int64_t units = 1;
  for (int32_t i = 0; i < scale; ++i) units *= 10;
  const int64_t second = number / units;
  if (number < 0 || second >= kSecondsOfDay + 1) {
    out += "null";
    return;
  }
  out += '"';
  append_clock(second, number % units * (kNanos / units), out);
  out += '"';
}

}  // namespace

void quote(std::string& out, size_t begin) {
  if (begin >= out.size() || out[begin] == '"') return;
  out.insert(begin, 1, '"');
  out += '"';
}

void append_json(const Column& column, const Cell& cell, std::string& out) {
  if (!cell.there) {
    out += "null";
    return;
  }
  if (column.kind != Kind::value) {
    out += cell.bytes;
    return;
  }
  constexpr int64_t kMillis = 1000, kMicros = 1'000'000;
  switch (column.meaning) {
    case Meaning::text:
      return append_json_bytes(out, cell.bytes);
    case Meaning::integer:
      fmt::format_to(std::back_inserter(out), "{}", cell.number);
      return;
    case Meaning::unsigned_integer: {
      const auto number = static_cast<uint64_t>(cell.number);
      fmt::format_to(std::back_inserter(out), "{}",
                     column.stored == Stored::int32 ? static_cast<uint32_t>(number) : number);
      return;
    }
    case Meaning::boolean:
      out += cell.number != 0 ? "true" : "false";
      return;
    case Meaning::real:
      if (column.stored == Stored::float32)
        return append_real(std::bit_cast<float>(static_cast<uint32_t>(cell.number)), out);
      return append_real(std::bit_cast<double>(cell.number), out);
    case Meaning::date: {
      const size_t begin = out.size();
      out += '"';
      if (append_date(cell.number, out)) {
        out += '"';
      } else {
        out.resize(begin);
        out += "null";
      }
      return;
    }
    case Meaning::milliseconds:
      return append_since_1970(cell.number, kMillis, column.utc, out);
    case Meaning::microseconds:
      return append_since_1970(cell.number, kMicros, column.utc, out);
    case Meaning::nanoseconds:
      if (column.stored == Stored::int96) return append_int96(cell.bytes, column.utc, out);
      return append_since_1970(cell.number, kNanos, column.utc, out);
    case Meaning::half:
      return append_real(half_of(column.stored == Stored::fixed && cell.bytes.size() >= sizeof(uint16_t)
                                     ? load<uint16_t>(cell.bytes.data())
                                     : static_cast<uint16_t>(cell.number)),
                         out);
    case Meaning::decimal:
      return append_decimal(column, cell, out);
    case Meaning::time:
      return append_time_of_day(cell.number, column.scale, out);
    case Meaning::uuid:
      return append_uuid(cell.bytes, out);
  }
}

}  // namespace doppel::tables
