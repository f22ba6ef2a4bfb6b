#pragma once
// Numbers and digits in texts.

#include <charconv>
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

}  // namespace doppel
