#pragma once
// Texts that programs write and read: JSON that is appended without building a tree, numbers, white space and
// escapes, and the nearest of several names.

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace doppel {

// Appends a quoted string with the necessary escapes; DEL is escaped too. Bytes that are not UTF-8 become
// U+FFFD.
void append_json_string(std::string& out, std::string_view text);

// The same, faster. Bytes that are not UTF-8 stay as they are, so that the reader of the JSON sees them.
void append_json_bytes(std::string& out, std::string_view text);

// Appends `ppm` millionths as a decimal fraction without trailing zeros: 1, 0.8, 0.913043.
void append_json_ppm(std::string& out, uint32_t ppm);

// A duration in the largest unit that is exact, at most days: "30d", "90s".
std::string write_duration(int64_t ms);

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

// Returns the number of insertions, deletions, replacements and swaps of neighbours that turn a into b.
int edit_distance(std::string_view a, std::string_view b);

// Returns the nearest candidate, or "" if none is near enough to be meant. "fsync" finds "state.fsync" too.
std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);

// Returns " (did you mean X?)", or "" if no candidate is near.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace doppel
