#pragma once
// What a page says of itself: its kind, and the text of an article or product in its JSON-LD data. Pages that
// are rendered by scripts in the browser have the text nowhere else.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "formats/html/html_parser.h"

namespace simdjson::dom {
class parser;
}

namespace doppel {

// Whether JSON-LD may describe a product. Publishers say of an article behind a paywall that it is part of a
// "CreativeWork" and "Product", in one list of types. Adds the bytes that it examines to `steps`.
bool names_product(std::string_view json, uint64_t& steps);

// One for each thread.
class ArticleData {
 public:
  ArticleData();
  ~ArticleData();

  void clear() { scripts_.clear(); }
  void clear_steps() { steps_ = 0; }
  // Bytes examined one by one, or parsed, since clear_steps().
  uint64_t steps() const { return steps_; }
  // Whether a script with these attributes holds data. If so, call begin(), then add() with the pieces of its
  // text.
  static bool is_data(HtmlAttributes attributes);
  void begin() { scripts_.push_back('\0'); }
  void add(std::string_view piece) { scripts_ += piece; }

  // The text of all scripts since clear().
  std::string_view scripts() const { return scripts_; }

  // Whether the scripts may describe a product.
  bool has_product();

  // Returns the longest `articleBody` (for products, `description`) of all scripts since clear(), as written:
  // some contain markup and entities. "" if there is none, or if the JSON is invalid. Valid until the next
  // call.
  std::string_view body();

 private:
  uint64_t steps_ = 0;
  std::string scripts_, json_, body_;  // scripts_ has a zero byte before each script
  std::unique_ptr<simdjson::dom::parser> parser_;
};

// What kind of page it is, by its own markup: one article or product, a forum, or neither, such as a listing.
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
