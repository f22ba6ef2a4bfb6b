#pragma once
// What an element's name means for the text around it, and how far its end tag reaches.

#include <string_view>

namespace doppel {

enum class ElementKind : unsigned char {
  in_line,  // does not end a word
  link,
  empty,  // never holds anything
  block,  // begins and ends a line
  heading,
  cell,   // of a table: ends a word, not a line
  unseen  // nothing in it is text
};

// An end tag closes the last open element of its name, and all that was opened inside, unless one of these is
// in between.
enum class Reach : unsigned char {
  inside,      // any block: such tags were written for the text of one block
  list,        // a list, or what ends a cell
  cell,        // a cell, a caption, a table
  table,       // a table
  everything,  // nothing
};

struct Element {
  std::string_view name;
  ElementKind kind = ElementKind::in_line;
  Reach reach = Reach::inside;
  unsigned char wall = 0;  // the bits of the reaches that it bounds
};

// Lives for ever. Names are in lower case; one that is not known is an in-line element without a name.
const Element& element_of(std::string_view name);

inline bool bounds(const Element& element, Reach reach) {
  return (element.wall >> static_cast<int>(reach) & 1) != 0;
}

}  // namespace doppel
