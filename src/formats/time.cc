// Parses times as crawlers and databases write them. It is strict: a date that does not exist is not a time.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

#include "formats/decoder.h"

namespace doppel {
namespace {

constexpr int64_t kDayMs = 86'400'000;
constexpr int64_t kFirstMs = -62'135'596'800'000;  // 0001-01-01T00:00:00Z
constexpr int64_t kLastMs = 253'402'300'799'999;   // 9999-12-31T23:59:59.999Z

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

// Reads a text from left to right. Each function returns whether it found what it expects, and consumes it.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}
  bool done() const { return rest_.empty(); }
  bool at_digit() const { return !rest_.empty() && is_digit(rest_.front()); }
  bool skip(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  bool any_of(std::string_view characters) {
    if (rest_.empty() || characters.find(rest_.front()) == std::string_view::npos) return false;
    rest_.remove_prefix(1);
    return true;
  }
  // Exactly n digits.
  bool digits(int n, int& value) {
    if (rest_.size() < static_cast<size_t>(n)) return false;
    int v = 0;
    for (int i = 0; i < n; ++i) {
      if (!is_digit(rest_[i])) return false;
      v = v * 10 + (rest_[i] - '0');
    }
    rest_.remove_prefix(n);
    value = v;
    return true;
  }
  // One or more digits of a fraction, truncated to thousandths.
  bool thousandths(int& value) {
    if (!at_digit()) return false;
    value = 0;
    int unit = 100;
    for (; at_digit(); rest_.remove_prefix(1), unit /= 10) value += (rest_.front() - '0') * unit;
    return true;
  }
  // The index in a list of three-letter names.
  bool name(std::string_view names, int& index) {
    if (rest_.size() < 3) return false;
    for (size_t i = 0; i < names.size(); i += 3) {
      if (rest_.starts_with(names.substr(i, 3))) {
        rest_.remove_prefix(3);
        index = static_cast<int>(i / 3);
        return true;
      }
    }
    return false;
  }

 private:
  std::string_view rest_;
};

struct Clock {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, ms = 0;
  int offset_minutes = 0;
};

std::optional<int64_t> in_range(int64_t ms) {
  if (ms < kFirstMs || ms > kLastMs) return std::nullopt;
  return ms;
}

std::optional<int64_t> to_ms(const Clock& c) {
  using namespace std::chrono;
  auto date = year{c.year} / month{static_cast<unsigned>(c.month)} / day{static_cast<unsigned>(c.day)};
  // A leap second (60) becomes the last second of its minute.
  if (c.year < 1 || !date.ok() || c.hour > 23 || c.minute > 59 || c.second > 60) return std::nullopt;
  int64_t seconds =
      int64_t{c.hour} * 3600 + c.minute * 60 + std::min(c.second, 59) - int64_t{c.offset_minutes} * 60;
  return in_range(sys_days{date}.time_since_epoch().count() * kDayMs + seconds * 1000 + c.ms);
}

// Nothing (UTC), Z, UTC, GMT, +hh, +hhmm, +hh:mm.
bool zone(Scanner& in, Clock& c) {
  if (in.done()) return true;
  in.skip(" ");
  if (in.any_of("Zz") || in.skip("UTC") || in.skip("GMT")) return in.done();
  int sign = in.skip("-") ? -1 : in.skip("+") ? 1 : 0;
  int hours = 0;
  int minutes = 0;
  if (sign == 0 || !in.digits(2, hours)) return false;
  if (!in.done()) {
    in.skip(":");
    if (!in.digits(2, minutes)) return false;
  }
  c.offset_minutes = sign * (hours * 60 + minutes);
  return in.done() && hours <= 23 && minutes <= 59;
}

// hh:mm, hh:mm:ss, hh:mm:ss.fff and a zone
bool time_of_day(Scanner& in, Clock& c) {
  if (!in.digits(2, c.hour) || !in.skip(":") || !in.digits(2, c.minute)) return false;
  if (in.skip(":")) {
    if (!in.digits(2, c.second)) return false;
    if (in.any_of(".,") && !in.thousandths(c.ms)) return false;
  }
  return zone(in, c);
}

std::optional<int64_t> iso(std::string_view text) {
  Scanner in(text);
  Clock c;
  if (!in.digits(4, c.year) || !in.skip("-") || !in.digits(2, c.month) || !in.skip("-") ||
      !in.digits(2, c.day)) {
    return std::nullopt;
  }
  if (!in.done() && (!in.any_of("Tt ") || !time_of_day(in, c))) return std::nullopt;
  return to_ms(c);
}

// 20240506, 20240506070809, 20240506070809123, 20240506T070809Z
std::optional<int64_t> compact(std::string_view text) {
  Scanner in(text);
  Clock c;
  if (!in.digits(4, c.year) || !in.digits(2, c.month) || !in.digits(2, c.day)) return std::nullopt;
  if (in.done()) return to_ms(c);
  bool separated = in.any_of("Tt");
  if (!in.digits(2, c.hour) || !in.digits(2, c.minute)) return std::nullopt;
  if (!in.digits(2, c.second)) return std::nullopt;
  if (separated) {
    if (in.any_of(".,") && !in.thousandths(c.ms)) return std::nullopt;
    if (!zone(in, c)) return std::nullopt;
  } else if (!in.done() && (!in.digits(3, c.ms) || !in.done())) {
    return std::nullopt;
  }
  return to_ms(c);
}

// Mon, 06 May 2024 07:08:09 GMT (HTTP, mail)
std::optional<int64_t> http_date(std::string_view text) {
  Scanner in(text);
  Clock c;
  int ignored = 0;
  if (!in.name("MonTueWedThuFriSatSun", ignored) || !in.skip(", ")) return std::nullopt;
  if (!in.digits(2, c.day) && !in.digits(1, c.day)) return std::nullopt;
  if (!in.skip(" ") || !in.name("JanFebMarAprMayJunJulAugSepOctNovDec", c.month) || !in.skip(" "))
    return std::nullopt;
  ++c.month;
  if (!in.digits(4, c.year) || !in.skip(" ") || !time_of_day(in, c)) return std::nullopt;
  return to_ms(c);
}

// Mon May 06 07:08:09 UTC 2024 (Java's Date). Other zone names are ambiguous.
std::optional<int64_t> java(std::string_view text) {
  Scanner in(text);
  Clock c;
  int ignored = 0;
  if (!in.name("MonTueWedThuFriSatSun", ignored) || !in.skip(" ")) return std::nullopt;
  if (!in.name("JanFebMarAprMayJunJulAugSepOctNovDec", c.month) || !in.skip(" ")) return std::nullopt;
  ++c.month;
  if (!in.digits(2, c.day) || !in.skip(" ") || !in.digits(2, c.hour) || !in.skip(":") ||
      !in.digits(2, c.minute) || !in.skip(":") || !in.digits(2, c.second)) {
    return std::nullopt;
  }
  if (!in.skip(" UTC ") && !in.skip(" GMT ") && !in.skip(" Z ")) return std::nullopt;
  if (!in.digits(4, c.year) || !in.done()) return std::nullopt;
  return to_ms(c);
}

// Seconds since 1970 if below 10^11, otherwise milliseconds.
std::optional<int64_t> epoch(std::string_view text) {
  bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  int64_t whole = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), whole);
  if (error != std::errc() || text.empty() || !is_digit(text[0])) return std::nullopt;
  int ms = 0;
  Scanner in({end, static_cast<size_t>(text.data() + text.size() - end)});
  if (!in.done() && (!in.skip(".") || !in.thousandths(ms) || !in.done())) return std::nullopt;
  if (whole >= 100'000'000'000'000) return std::nullopt;
  int64_t value = whole >= 100'000'000'000 ? whole : whole * 1000 + ms;
  return in_range(negative ? -value : value);
}

}  // namespace

std::optional<int64_t> parse_time(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  if (text.empty()) return std::nullopt;
  const size_t digits =
      static_cast<size_t>(std::find_if_not(text.begin(), text.end(), is_digit) - text.begin());
  // A crawl log's "start+duration": takes the start.
  if (digits == 17 && text[std::min<size_t>(17, text.size() - 1)] == '+') text = text.substr(0, 17);
  if (digits == text.size()) {
    bool date = digits == 8 || digits == 14 || digits == 17;
    return date ? compact(text) : epoch(text);
  }
  if (digits == 4 && text[4] == '-') return iso(text);
  if (digits == 8 && (text[8] == 'T' || text[8] == 't')) return compact(text);
  if (text[0] == '-' || (digits > 0 && text[digits] == '.')) return epoch(text);
  if (text.size() > 3 && text[3] == ' ') return java(text);
  return http_date(text);
}

std::string format_time(int64_t ms) {
  using namespace std::chrono;
  int64_t days_since = ms / kDayMs - (ms % kDayMs < 0 ? 1 : 0);
  year_month_day date{sys_days{days{days_since}}};
  int64_t rest = ms - days_since * kDayMs;
  std::string out =
      fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", int(date.year()), unsigned(date.month()),
                  unsigned(date.day()), rest / 3'600'000, rest / 60'000 % 60, rest / 1000 % 60);
  if (rest % 1000 != 0) out += fmt::format(".{:03}", rest % 1000);
  return out + "Z";
}

}  // namespace doppel
