#pragma once
// What a page says that it is: one article or one product, a forum, or neither, such as a listing.

#include <cstdint>
#include <string_view>

#include "formats/html/html_parser.h"

namespace doppel {

class PageKind {
 public:
  void clear() { *this = PageKind(); }

  // What is seen of the page: its <meta>, an element, the class or id of the whole page, an itemtype, its
  // data (JSON-LD).
  void see_meta(HtmlAttributes attributes);
  void see_element(std::string_view name) { articles_ += name == "article" ? 1 : 0; }
  void see_attribute(std::string_view name, std::string_view value);
  void see_data(std::string_view json);

  // The page is what its readers wrote.
  bool is_forum() const { return forum_; }
  // What is beside one article or product is about other things.
  bool is_one_thing() const { return one_thing_ || articles_ == 1; }

 private:
  uint32_t articles_ = 0;
  bool forum_ = false, one_thing_ = false;
};

}  // namespace doppel
