#pragma once
// Which of a page's blocks are what the page is for. No words of any language are known here: a block is
// judged by its length, by how much of it is links, by what surrounds it, and by what its elements say of
// themselves.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace doppel {

// What is known of the place of a block from the elements around it.
struct Place {
  bool in_link = false;
  bool heading = false;
  bool boilerplate = false;  // nav, footer, aside ..., by name, role, class or id
  bool content = false;      // main, article, itemprop=articleBody

  void enter(std::string_view element);
  void enter_attribute(std::string_view name, std::string_view value);
};

struct TextBlock {
  size_t begin = 0;  // in the page's visible text
  size_t end = 0;
  size_t link_bytes = 0;
  Place place;
};

// The chosen blocks, a line each, in `memory`; all of `text` where too little would remain.
std::string_view main_text(std::string_view text, const std::vector<TextBlock>& blocks, std::string& memory);

}  // namespace doppel
