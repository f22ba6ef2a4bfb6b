#include "base/strings.h"

#include <algorithm>
#include <array>

#include "base/bytes.h"
#include "base/utf8.h"

namespace doppel {
namespace {

// The letter after the backslash that represents a character; 0: no escape needed; 'u': \u and its code.
constexpr std::array<char, 0x80> kEscapes = [] {
  std::array<char, 0x80> out{};
  for (size_t c = 0; c < 0x20; ++c) out[c] = 'u';
  out['\n'] = 'n';
  out['\r'] = 'r';
  out['\t'] = 't';
  out['"'] = '"';
  out['\\'] = '\\';
  return out;
}();

constexpr uint64_t kOnes = 0x0101010101010101, kHighs = kOnes * 0x80;

bool any_is(uint64_t eight, uint8_t c) {
  const uint64_t v = eight ^ kOnes * c;
  return ((v - kOnes) & ~v & kHighs) != 0;
}

// Whether no byte needs an escape; ignores bytes from 0x80.
bool is_plain(uint64_t eight) {
  const bool control = ((eight - kOnes * 0x20) & ~eight & kHighs) != 0;
  return !control && !any_is(eight, '"') && !any_is(eight, '\\');
}

void append_escaped(std::string& out, uint8_t c) {
  static constexpr char kHex[] = "0123456789abcdef";
  const char letter = c == 0x7f ? 'u' : kEscapes[c];
  out += '\\';
  out += letter;
  if (letter != 'u') return;
  out += "00";
  out += kHex[c >> 4];
  out += kHex[c & 15];
}

template <bool kKeepsBytes>
void append(std::string& out, std::string_view text) {
  out += '"';
  size_t plain = 0;  // start of the text that is not written yet
  for (size_t at = 0; at < text.size();) {
    if (at + 8 <= text.size()) {
      const auto eight = load<uint64_t>(text.data() + at);
      if (is_plain(eight) && (kKeepsBytes || ((eight & kHighs) == 0 && !any_is(eight, 0x7f)))) {
        at += 8;
        continue;
      }
    }
    const auto c = static_cast<uint8_t>(text[at]);
    size_t fine = 1;  // bytes copied unchanged
    if (c >= 0x80 && !kKeepsBytes) {
      char32_t code = 0;
      const int length = utf8::decode(reinterpret_cast<const uint8_t*>(&text[at]), text.size() - at, code);
      fine = length > 0 ? static_cast<size_t>(length) : 0;
    } else if (c < 0x80) {
      fine = kEscapes[c] == 0 && (kKeepsBytes || c != 0x7f) ? 1 : 0;
    }
    at += fine;
    if (fine > 0) continue;
    out.append(text, plain, at - plain);
    if (c >= 0x80) {
      out += "\xef\xbf\xbd";
    } else {
      append_escaped(out, c);
    }
    plain = ++at;
  }
  out.append(text, plain);
  out += '"';
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) { append<false>(out, text); }
void append_json_bytes(std::string& out, std::string_view text) { append<true>(out, text); }

void append_json_ppm(std::string& out, uint32_t ppm) {
  out += std::to_string(ppm / 1'000'000);
  uint32_t rest = ppm % 1'000'000;
  if (rest == 0) return;
  std::array<char, 6> digits{};
  for (int i = 5; i >= 0; --i, rest /= 10) digits[i] = static_cast<char>('0' + rest % 10);
  size_t n = 6;
  while (digits[n - 1] == '0') --n;
  out += '.';
  out.append(digits.data(), n);
}

namespace {

constexpr size_t kLongest = 64;  // nobody misspells one of our names into a longer one

std::string_view last_part(std::string_view name) { return name.substr(name.rfind('.') + 1); }

}  // namespace

// Keeps three rows of the classic table: the current one and the two before it (a swap looks two rows back).
int edit_distance(std::string_view a, std::string_view b) {
  std::vector<int> before(b.size() + 1);
  std::vector<int> above(b.size() + 1);
  std::vector<int> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) above[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
  if (name.size() > kLongest) return {};
  std::string nearest;
  int least = static_cast<int>(kLongest);
  auto consider = [&](std::string_view a, std::string_view b, int penalty, const std::string& candidate) {
    int distance = edit_distance(a, b);
    if (distance > static_cast<int>(a.size()) / 3 || distance + penalty >= least) return;
    least = distance + penalty;
    nearest = candidate;
  };
  for (const std::string& candidate : candidates) {
    consider(name, candidate, 0, candidate);
    if (last_part(candidate) != candidate) consider(last_part(name), last_part(candidate), 1, candidate);
  }
  return nearest;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates) {
  std::string nearest = nearest_name(name, candidates);
  return nearest.empty() ? "" : " (did you mean " + nearest + "?)";
}

std::string write_duration(int64_t ms) {
  if (ms == 0) return "0ms";
  for (const auto& [unit, size] :
       {std::pair<const char*, int64_t>{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1000}}) {
    if (ms % size == 0) return std::to_string(ms / size) + unit;
  }
  return std::to_string(ms) + "ms";
}

}  // namespace doppel
