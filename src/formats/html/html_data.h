#pragma once
// The text of an article or product as the page's own data gives it (JSON-LD): pages that are made by scripts
// in the browser have it nowhere else.

#include <memory>
#include <string>
#include <string_view>

namespace simdjson::dom {
class parser;
}

namespace doppel {

// One for each thread.
class ArticleData {
 public:
  ArticleData();
  ~ArticleData();

  void clear() { scripts_.clear(); }
  // A script begins, if this is the value of its attribute `type`; then its text comes in pieces.
  static bool is_data(std::string_view type);
  void begin() { scripts_.push_back('\0'); }
  void add(std::string_view piece) { scripts_ += piece; }

  // All scripts since clear(), as they are.
  std::string_view scripts() const { return scripts_; }

  // Whether they may describe a product.
  bool has_product() const;

  // The longest `articleBody`, or `description` of a product, in all scripts since clear(), as it is written:
  // markup and entities are in some. Empty: there is none, or what holds it is no JSON. Lives until the next
  // call.
  std::string_view body();

 private:
  std::string scripts_, json_, body_;  // a zero before each script
  std::unique_ptr<simdjson::dom::parser> parser_;
};

}  // namespace doppel
