#pragma once
// Showing what others have written: documents, names and ids may hold anything.

#include <cstdint>
#include <string>
#include <string_view>

namespace doppel {

// For a terminal or a page: what is not UTF-8, control characters (but for tab and line feed) and characters
// that turn the direction of text become U+FFFD. A carriage return is left out.
std::string printable(std::string_view text);

// printable(), and with & < > " ' as HTML and SVG want them, in text and in attributes.
std::string html_escape(std::string_view text);

// printable() on one line, cut after `most` characters.
std::string one_line(std::string_view text, size_t most);

// 1234567 -> "1,234,567".
std::string with_commas(uint64_t number);
// 1536 -> "1.50 KiB": three significant digits.
std::string with_unit(double bytes);
// A probability as a person reads it, also next to 0 and 1: "99.56 %", "1 in 4,200,000".
std::string as_chance(double p);

}  // namespace doppel
