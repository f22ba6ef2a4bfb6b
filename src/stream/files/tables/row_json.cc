#include "stream/files/tables/row_json.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <iterator>

#include "base/bytes.h"
#include "base/json_text.h"

namespace doppel::tables {
namespace {

constexpr int64_t kDayOf1970 = 2'440'588;  // Julian
constexpr int64_t kSecondsOfDay = 86'400;
constexpr int64_t kMostDays = 11'000'000;  // what a year of the calendar can hold, and more than anybody has
constexpr int64_t kNanos = 1'000'000'000;

// Days since 1970. False: no calendar has them.
bool append_date(int64_t days, std::string& out) {
  using namespace std::chrono;
  if (days < -kMostDays || days > kMostDays) return false;
  const year_month_day date{sys_days{std::chrono::days{days}}};
  if (!date.ok() || int(date.year()) < 0 || int(date.year()) > 9999) return false;
  fmt::format_to(std::back_inserter(out), "{:04}-{:02}-{:02}", int(date.year()), unsigned(date.month()),
                 unsigned(date.day()));
  return true;
}

// Seconds since 1970 and nanoseconds, of which as many digits are written as are not zero, in threes.
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
  fmt::format_to(std::back_inserter(out), "T{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60);
  if (nanos % 1'000'000 == 0 && nanos != 0) {
    fmt::format_to(std::back_inserter(out), ".{:03}", nanos / 1'000'000);
  } else if (nanos % 1000 == 0 && nanos != 0) {
    fmt::format_to(std::back_inserter(out), ".{:06}", nanos / 1000);
  } else if (nanos != 0) {
    fmt::format_to(std::back_inserter(out), ".{:09}", nanos);
  }
  out += utc ? "Z\"" : "\"";
}

// A number of units since 1970, of which a second has `units`.
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

// As short as it can be without becoming another one. JSON has no infinity.
template <typename T>
void append_real(T value, std::string& out) {
  if (std::isfinite(value)) {
    fmt::format_to(std::back_inserter(out), "{}", value);
  } else {
    out += "null";
  }
}

}  // namespace

void append_json(const Column& column, const Cell& cell, std::string& out) {
  if (!cell.there) {
    out += "null";
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
    case Meaning::uuid:
      return append_uuid(cell.bytes, out);
  }
}

}  // namespace doppel::tables
