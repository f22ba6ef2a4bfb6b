#pragma once
// Shows text from others safely: documents, names and ids may contain anything. And numbers in a form
// for people.

#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "fmt/format.h"

namespace doppel {

// For a terminal or a page. Replaces invalid UTF-8, control characters (except tab and line feed) and
// characters that change the direction of text with U+FFFD. Drops carriage returns.
std::string printable(std::string_view text);

// printable(), with & < > " ' escaped for HTML and SVG, in text and attributes.
std::string html_escape(std::string_view text);

// printable() on one line, truncated after `most` characters.
std::string one_line(std::string_view text, size_t most);

// 1234567 -> "1,234,567".
std::string with_commas(uint64_t number);
// (1, "file") -> "1 file"; (2000, "file") -> "2,000 files".
std::string counted(uint64_t number, std::string_view noun);
// 1536 -> "1.50 KiB", with three significant digits.
std::string with_unit(double bytes);
// A probability in readable form, even close to 0 and 1: "99.56 %", "1 in 4,200,000".
std::string as_chance(double p);

// Builds a text line by line.
class Lines {
 public:
  template <typename... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += '\n';
  }
  void raw(std::string_view text) { text_ += text; }
  size_t size() const { return text_.size(); }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

}  // namespace doppel
