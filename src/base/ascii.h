#pragma once
// Numbers, digits, white space and escapes in texts that programs write.

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <system_error>

namespace doppel {

// Parses a number that is the whole text. Returns false if it is not one or too large for `out`.
template <typename T>
bool whole_number(std::string_view text, T& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

// The value of a hexadecimal digit of either case; -1: it is none.
constexpr int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// The text without these characters at its ends.
inline std::string_view trimmed(std::string_view text, std::string_view spaces = " \t\r\n") {
  text.remove_prefix(std::min(text.find_first_not_of(spaces), text.size()));
  return text.substr(0, text.find_last_not_of(spaces) + 1);
}

// Decodes as in HTML forms: %41 is A, + is a space. What is no escape stays.
inline void decode_form(std::string_view text, std::string& out) {
  out.clear();
  for (size_t i = 0; i < text.size(); ++i) {
    const bool escaped =
        text[i] == '%' && i + 2 < text.size() && hex_value(text[i + 1]) >= 0 && hex_value(text[i + 2]) >= 0;
    if (escaped) {
      out += static_cast<char>(hex_value(text[i + 1]) * 16 + hex_value(text[i + 2]));
      i += 2;
    } else {
      out += text[i] == '+' ? ' ' : text[i];
    }
  }
}

}  // namespace doppel
