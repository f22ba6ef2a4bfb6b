#include "insight/show.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/utf8.h"
#include "fmt/format.h"

namespace doppel {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

bool dangerous(char32_t c) {
  if (c < 0x20) return c != '\t' && c != '\n';
  return (c >= 0x7f && c < 0xa0) || (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) ||
         c == 0x200e || c == 0x200f || c == 0x61c || c == 0xfffe || c == 0xffff;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  const auto* p = reinterpret_cast<const uint8_t*>(text.data());
  for (size_t i = 0; i < text.size();) {
    char32_t c = 0;
    const int size = utf8::decode(p + i, text.size() - i, c);
    if (size <= 0) {
      out += kReplacement;
      ++i;
      continue;
    }
    if (c == '\r') {
      // dropped: the line feed after it is enough
    } else if (dangerous(c)) {
      out += kReplacement;
    } else {
      out.append(text.substr(i, size));
    }
    i += size;
  }
  return out;
}

std::string html_escape(std::string_view text) {
  std::string out;
  for (char c : printable(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string one_line(std::string_view text, size_t most) {
  std::string clean = printable(text);
  size_t characters = 0;
  for (size_t i = 0; i < clean.size(); ++i) {
    if (clean[i] == '\n' || clean[i] == '\t') clean[i] = ' ';
    if ((clean[i] & 0xc0) != 0x80 && ++characters > most) return clean.substr(0, i) + "...";
  }
  return clean;
}

std::string with_commas(uint64_t number) {
  std::string digits = std::to_string(number);
  for (size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string counted(uint64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", with_commas(number), noun, number == 1 ? "" : "s");
}

std::string with_unit(double bytes) {
  static constexpr std::array<const char*, 6> kUnits{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"};
  size_t unit = 0;
  while (bytes >= 999.5 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  const int digits = unit == 0 || bytes >= 99.95 ? 0 : bytes >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}", bytes, digits, kUnits[unit]);
}

std::string as_chance(double p) {
  if (p <= 0) return "0 %";
  if (p >= 1) return "100 %";
  if (p < 0.0005) {
    if (1 / p > 1e15) return fmt::format("1 in {:.0e}", 1 / p);
    // More than two digits would be meaningless.
    const double unit = std::pow(10, std::floor(std::log10(1 / p)) - 1);
    return "1 in " + with_commas(static_cast<uint64_t>(std::llround(std::round(1 / p / unit) * unit)));
  }
  if (p > 0.9995) {
    // Enough digits to show the difference from 100, rounded down: never "100 %".
    const int digits = std::clamp(static_cast<int>(std::ceil(-std::log10(1 - p) - 1e-9)) - 2, 2, 9);
    const double unit = std::pow(10, digits);
    return fmt::format("{:.{}f} %", std::floor(p * 100 * unit + 1e-6) / unit, digits);
  }
  return fmt::format("{:.{}f} %", p * 100, p < 0.0995 || p > 0.9905 ? 2 : 1);
}

}  // namespace doppel
