#pragma once
// What an element's name means for the text around it.

#include <string_view>

namespace doppel {

enum class ElementKind : unsigned char {
  in_line,  // does not end a word
  link,
  block,  // begins and ends a line
  heading,
  cell,   // of a table: ends a word, not a line
  unseen  // nothing in it is text
};

ElementKind element_kind(std::string_view name);  // in lower case

}  // namespace doppel
