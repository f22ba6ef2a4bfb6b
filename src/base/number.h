#pragma once
// Numbers in texts.

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

}  // namespace doppel
