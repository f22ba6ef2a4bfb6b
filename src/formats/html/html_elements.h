#pragma once
// What each element means for the text around it, and how far its end tag reaches.

#include <string_view>

namespace doppel {

enum class ElementKind : unsigned char {
  in_line,  // does not end a word
  link,
  empty,  // never has content
  block,  // begins and ends a line
  heading,
  cell,   // a table cell: ends a word, not a line
  unseen  // none of its content is text
};

// An end tag closes the last open element with its name and all elements inside, unless one of these is in
// between.
enum class Reach : unsigned char {
  inside,      // any block: such a tag affects the text of one block
  list,        // a list, or what stops `cell`
  cell,        // a cell, a caption, a table
  table,       // a table
  everything,  // nothing
};

// Names are in lower case. An unknown name gives an in-line element without a name.
struct Element {
  std::string_view name;
  ElementKind kind = ElementKind::in_line;
  Reach reach = Reach::inside;
  unsigned char wall = 0;  // bit set of the reaches that stop at this element
};

// The result is valid for ever.
const Element& element_of(std::string_view name);

inline bool bounds(const Element& element, Reach reach) {
  return (element.wall >> static_cast<int>(reach) & 1) != 0;
}

}  // namespace doppel
