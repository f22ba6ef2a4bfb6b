#include "config/values.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "base/strings.h"
#include "fmt/format.h"

namespace doppel {
namespace {

constexpr std::string_view kSpaces = " \t";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// A number and its unit: "12 MiB" is {12, "MiB"}.
struct Quantity {
  uint64_t number;
  std::string_view unit;
};

std::optional<Quantity> split_unit(std::string_view text) {
  size_t digits = 0;
  while (digits < text.size() && (is_digit(text[digits]) || text[digits] == '_')) ++digits;
  auto number = parse_integer(text.substr(0, digits));
  if (!number) return std::nullopt;
  std::string_view unit = text.substr(digits);
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  return Quantity{*number, unit};
}

struct Unit {
  std::string_view name;
  uint64_t factor;
};

std::optional<uint64_t> scale(std::string_view text, const Unit* units, size_t count) {
  auto quantity = split_unit(text);
  if (!quantity) return std::nullopt;
  const Unit* unit =
      std::find_if(units, units + count, [&](const Unit& u) { return u.name == quantity->unit; });
  if (unit == units + count) return std::nullopt;
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
  if (quantity->number > kMost / unit->factor) return std::nullopt;
  return quantity->number * unit->factor;
}

// write_size() uses the first unit that divides the size.
constexpr std::array<Unit, 11> kSizes{{{"GiB", 1u << 30},
                                       {"MiB", 1u << 20},
                                       {"KiB", 1u << 10},
                                       {"GB", 1'000'000'000},
                                       {"MB", 1'000'000},
                                       {"kB", 1'000},
                                       {"", 1},
                                       {"G", 1u << 30},
                                       {"M", 1u << 20},
                                       {"k", 1u << 10},
                                       {"B", 1}}};
constexpr std::array<Unit, 6> kDurations{
    {{"w", 604'800'000}, {"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}}};

bool plain(std::string_view text) {
  if (text.empty() || text == "null" || text == "Null" || text == "NULL") return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) {
                       return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
                              c == '/' || c == '.' || c == '-' || c == '+';
                     }) &&
         text.front() != '-';
}

}  // namespace

std::optional<int64_t> parse_millionths(std::string_view text) {
  size_t point = std::min(text.find('.'), text.size());
  std::string_view whole = text.substr(0, point);
  std::string_view fraction = point < text.size() ? text.substr(point + 1) : std::string_view();
  if (whole.empty() && fraction.empty()) return std::nullopt;
  if (whole.size() > 9 || fraction.size() > 6) return std::nullopt;
  if (!std::all_of(whole.begin(), whole.end(), is_digit) ||
      !std::all_of(fraction.begin(), fraction.end(), is_digit)) {
    return std::nullopt;
  }
  int64_t value = 0;
  for (char c : whole) value = value * 10 + (c - '0');
  for (size_t i = 0; i < 6; ++i) value = value * 10 + (i < fraction.size() ? fraction[i] - '0' : 0);
  return value;
}

std::string write_millionths(int64_t millionths) {
  std::string text = fmt::format("{}.{:06}", millionths / kMillion, millionths % kMillion);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

std::optional<uint64_t> parse_integer(std::string_view text) {
  std::string digits;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '_' && i > 0 && i + 1 < text.size() && is_digit(text[i - 1])) continue;
    digits += text[i];
  }
  uint64_t value = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

std::optional<uint64_t> parse_size(std::string_view text) {
  return scale(text, kSizes.data(), kSizes.size());
}

std::string write_size(uint64_t bytes) {
  if (bytes == 0) return "0";
  for (const Unit& unit : kSizes) {
    if (bytes % unit.factor == 0) return fmt::format("{}{}", bytes / unit.factor, unit.name);
  }
  return fmt::format("{}", bytes);
}

std::optional<int64_t> parse_duration(std::string_view text) {
  auto ms = scale(text, kDurations.data(), kDurations.size());
  if (!ms) return std::nullopt;
  return static_cast<int64_t>(*ms);
}

std::vector<std::string> split_list(std::string_view text) {
  text = trimmed(text, kSpaces);
  if (text.size() >= 2 && text.front() == '[' && text.back() == ']')
    text = trimmed(text.substr(1, text.size() - 2), kSpaces);
  std::vector<std::string> items;
  if (text.empty()) return items;
  for (;;) {
    size_t comma = std::min(text.find(','), text.size());
    items.emplace_back(trimmed(text.substr(0, comma), kSpaces));
    if (comma == text.size()) return items;
    text.remove_prefix(comma + 1);
  }
}

std::string write_text(std::string_view text) {
  if (plain(text)) return std::string(text);
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string write_list(const std::vector<std::string>& items) {
  std::string out = "[";
  for (const std::string& item : items) out += (out.size() > 1 ? ", " : "") + write_text(item);
  return out + "]";
}

std::string shown(std::string_view text) {
  constexpr size_t kMost = 60;
  if (text.empty()) return "an empty text";
  std::string out;
  for (char c : text.substr(0, kMost)) {
    bool control = static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    out += control ? fmt::format("\\x{:02x}", static_cast<unsigned char>(c)) : std::string(1, c);
  }
  return text.size() > kMost ? out + "..." : out;
}

}  // namespace doppel
