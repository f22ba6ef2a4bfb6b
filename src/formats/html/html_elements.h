#pragma once
// What each element means for the text around it, what its start tag ends, and how far its end tag reaches.

#include <cstdint>
#include <string_view>

#include "formats/html/html_tokens.h"

namespace doppel {

enum class ElementKind : unsigned char {
  in_line,  // does not end a word
  link,
  empty,  // never has content, and is no text
  block,  // begins and ends a line
  heading,
  cell,   // a table cell: ends a word, not a line
  unseen  // none of its content is text
};

// A tag looks for an open element from the innermost one outwards, up to one of these.
enum class Reach : unsigned char {
  inside,      // any block: such a tag affects the text of one block
  item,        // any block but address, div and p
  list,        // a list, or what stops `cell`
  button,      // a button, or what stops `cell`
  cell,        // a cell, a caption, a table
  table,       // a table
  everything,  // nothing
};
inline constexpr int kReaches = 7;
// The bits of `wall` of what stops all of them but `table`, such as a cell.
inline constexpr unsigned char kCellWall = 0b11111;

// What a start tag ends before its element begins (the standard's tree construction).
enum class Ends : unsigned char {
  nothing,
  paragraph,       // an open p
  paragraph_only,  // an open p, unless the page has no DOCTYPE
  heading,         // an open p, then a heading directly around
  item,            // the li before, then an open p
  term,            // the dt or dd before, then an open p
  same,            // the same element further out, with what is inside: a button, a select
  option,          // an option directly around
  options,         // an option, then an optgroup directly around
  select,          // the select around
  link,            // a link in a link
  cell,            // the cell before
  row,             // the row or caption before
  rows             // the group of rows or the caption before
};

// Elements that tags look for, or that change what tags mean.
enum class ElementRole : unsigned char {
  none,
  html,
  head,
  in_head,
  body,
  p,
  heading,
  li,
  term,
  button,
  select,
  option,
  optgroup,
  a,
  form,
  table,
  caption,
  rows,
  row,
  cell,
  br,
  foreign,
  integration,
  script,
  noscript,
  unseen_template,
  meta,
  turbo_stream,
  header,
  ruby,
  reading,  // of characters in ruby
  unknown
};
inline constexpr int kElementRoles = static_cast<int>(ElementRole::unknown) + 1;

struct Element {
  std::string_view name;
  ElementKind kind = ElementKind::in_line;
  Reach reach = Reach::inside;  // of the end tag
  unsigned char wall = 0;       // bit set of the reaches that stop at this element
  Ends ends = Ends::nothing;
  ElementRole role = ElementRole::none;
  HtmlContent content = HtmlContent::markup;
  bool is_void = false;
  bool breaks_out = false;   // ends svg and math
  unsigned char number = 0;  // elements that an end tag closes alike have the same; 0 for an unknown one
};
inline constexpr int kElementNumbers = 160;

// The element with this name, whose html_name_key() is `key`. The result is valid for ever. An unknown name
// gives an in-line element without a name.
const Element& element_of(std::string_view name, uint64_t key);

}  // namespace doppel
