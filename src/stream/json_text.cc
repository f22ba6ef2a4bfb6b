#include "stream/json_text.h"

#include <array>

#include "text/utf8.h"

namespace doppel {
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
    char32_t code = 0;
    const int length =
        c < 0x80 ? 0 : utf8::decode(reinterpret_cast<const uint8_t*>(&text[at]), text.size() - at, code);
    if (length > 0) {
      at += static_cast<size_t>(length);
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
