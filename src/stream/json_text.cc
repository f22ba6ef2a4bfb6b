#include "stream/json_text.h"

#include <array>

namespace doppel {
namespace {

// Length of the well-formed UTF-8 sequence at the start of `s`, 0 if there is none (Unicode, table 3-7).
size_t well_formed(std::string_view s) {
  auto byte = [&](size_t i) { return i < s.size() ? static_cast<uint8_t>(s[i]) : uint8_t{0}; };
  auto in = [&](size_t i, int low, int high) { return byte(i) >= low && byte(i) <= high; };
  uint8_t lead = byte(0);
  if (lead >= 0xc2 && lead <= 0xdf) return in(1, 0x80, 0xbf) ? 2 : 0;
  if (lead >= 0xe0 && lead <= 0xef) {
    return in(1, lead == 0xe0 ? 0xa0 : 0x80, lead == 0xed ? 0x9f : 0xbf) && in(2, 0x80, 0xbf) ? 3 : 0;
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    return in(1, lead == 0xf0 ? 0x90 : 0x80, lead == 0xf4 ? 0x8f : 0xbf) && in(2, 0x80, 0xbf) &&
                   in(3, 0x80, 0xbf)
               ? 4
               : 0;
  }
  return 0;
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  out.push_back('"');
  size_t plain = 0;  // what lies before `at` and is not yet written
  for (size_t at = 0; at < text.size();) {
    auto c = static_cast<uint8_t>(text[at]);
    if (c >= 0x20 && c < 0x80 && c != '"' && c != '\\') {
      ++at;
      continue;
    }
    size_t length = c >= 0x80 ? well_formed(text.substr(at)) : 0;
    if (length != 0) {
      at += length;
      continue;
    }
    out.append(text.substr(plain, at - plain));
    if (c >= 0x80) {
      out += "\xef\xbf\xbd";
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else {
      out += "\\u00";
      out += kHex[c >> 4];
      out += kHex[c & 15];
    }
    plain = ++at;
  }
  out.append(text.substr(plain));
  out.push_back('"');
}

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

}  // namespace doppel
