#pragma once
// What kind of page it is, by its own markup: one article or product, a forum, or neither, such as a listing.

#include <cstdint>
#include <string_view>

#include "formats/html/html_parser.h"

namespace doppel {

class PageKind {
 public:
  void clear() { *this = PageKind(); }

  // Call these for each <meta>, each element, each class or id of <html> and <body>, each itemtype, and the
  // JSON-LD data, which may describe a product.
  void see_meta(HtmlAttributes attributes);
  void see_element(std::string_view name) { articles_ += name == "article" ? 1 : 0; }
  void see_attribute(HtmlAttribute name, std::string_view value);
  void see_data(std::string_view json, bool product);

  // Whether the page consists of posts of its readers.
  bool is_forum() const { return forum_; }
  // Whether the page is about one article or product, so that everything around it is about other things.
  bool is_one_thing() const { return one_thing_ || product_ || articles_ == 1; }
  bool is_product() const { return product_; }

 private:
  uint32_t articles_ = 0;
  bool forum_ = false, one_thing_ = false, product_ = false;
};

}  // namespace doppel
