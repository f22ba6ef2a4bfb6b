#include "formats/html/html_data.h"

#include <simdjson.h>

#include <algorithm>

#include "formats/bytes/http.h"

namespace doppel {
namespace {

constexpr std::string_view kProducts[] = {"Product", "ProductGroup"};
constexpr int kDepth = 16;  // enough for the data of pages: a graph, an article, and what contains it

bool is_product(simdjson::dom::object object) {
  std::string_view type;
  return object["@type"].get(type) == simdjson::SUCCESS &&
         std::find(std::begin(kProducts), std::end(kProducts), type) != std::end(kProducts);
}

void find_body(simdjson::dom::element element, int depth, std::string_view& longest) {
  if (depth > kDepth) return;
  simdjson::dom::array array;
  simdjson::dom::object object;
  if (element.get(array) == simdjson::SUCCESS) {
    for (const simdjson::dom::element item : array) find_body(item, depth + 1, longest);
  } else if (element.get(object) == simdjson::SUCCESS) {
    const std::string_view wanted = is_product(object) ? "description" : "articleBody";
    for (const auto& [key, value] : object) {
      std::string_view text;
      if (key != wanted || value.get(text) != simdjson::SUCCESS) {
        find_body(value, depth + 1, longest);
      } else if (text.size() > longest.size()) {
        longest = text;
      }
    }
  }
}

}  // namespace

// One pass: a page may name a thousand products in one list.
bool names_product(std::string_view json, uint64_t& steps) {
  constexpr std::string_view kProduct = "\"Product", kWork = "\"CreativeWork\"";
  if (json.find(kProduct) == json.npos) return false;
  char around = '{';     // the last bracket that opened
  bool work = false;     // a CreativeWork came behind it
  bool product = false;  // a product waits for a CreativeWork before the next bracket that closes
  for (size_t at = 0; at < json.size(); ++at, ++steps) {
    switch (json[at]) {
      case '[':
      case '{':
        around = json[at];
        work = false;
        break;
      case ']':
      case '}':
        if (product) return true;
        break;
      case '"':
        if (json.substr(at).starts_with(kWork)) {
          work = true;
          product = false;
        } else if (json.substr(at).starts_with(kProduct)) {
          if (around == '{') return true;
          product = !work;
        }
        break;
      default:
        break;
    }
  }
  return product;
}

ArticleData::ArticleData() = default;
ArticleData::~ArticleData() = default;

bool ArticleData::is_data(HtmlAttributes attributes) {
  constexpr std::string_view kType = "application/ld+json";
  bool data = false;
  attributes.each([&](HtmlAttribute name, std::string_view value) {
    if (name != HtmlAttribute::type) return;
    while (value.starts_with(' ')) value.remove_prefix(1);
    data = equal_ignoring_case(value.substr(0, kType.size()), kType);
  });
  return data;
}

bool ArticleData::has_product() { return names_product(scripts_, steps_); }

std::string_view ArticleData::body() {
  body_.clear();
  if (scripts_.find("articleBody") == std::string::npos && !has_product()) return body_;
  if (parser_ == nullptr) parser_ = std::make_unique<simdjson::dom::parser>();
  for (size_t begin = 0; begin < scripts_.size();) {
    const size_t end = std::min(scripts_.find('\0', begin + 1), scripts_.size());
    json_.assign(scripts_, begin + 1, end - begin - 1);
    begin = end;
    // JSON does not allow line feeds in strings, but pages often have them.
    for (char& c : json_) {
      if (static_cast<unsigned char>(c) < 0x20) c = ' ';
    }
    steps_ += json_.size();
    simdjson::dom::element root;
    if (parser_->parse(json_).get(root) != simdjson::SUCCESS) continue;
    std::string_view longest = body_;
    find_body(root, 0, longest);
    if (longest.size() > body_.size()) body_.assign(longest);
  }
  return body_;
}

namespace {

// Types of schema.org, as they occur in a page's data.
constexpr std::string_view kForumTypes[] = {"DiscussionForumPosting", "QAPage"};
constexpr std::string_view kArticleTypes[] = {"Article\"", "BlogPosting\""};
// Types of Open Graph: "article", "og:product", "product.item".
constexpr std::string_view kArticle = "article", kProduct = "product";
// Words in the class or id of <html> or <body>.
constexpr std::string_view kForumWords[] = {"topic",  "topics", "thread",    "threads", "forum",
                                            "forums", "phpbb",  "vbulletin", "xenforo", "discourse"};
constexpr size_t kBytesRead = 256;

template <size_t n>
bool has_one_of(std::string_view text, const std::string_view (&words)[n]) {
  return std::any_of(std::begin(words), std::end(words),
                     [text](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

bool is_forum_word(std::string_view word) {
  return std::any_of(std::begin(kForumWords), std::end(kForumWords), [word](std::string_view forum) {
    return std::equal(word.begin(), word.end(), forum.begin(), forum.end(),
                      [](char a, char b) { return lower(a) == b; });
  });
}

}  // namespace

void PageKind::see_meta(HtmlAttributes attributes) {
  bool type = false, one_thing = false, product = false;
  attributes.each([&](HtmlAttribute name, std::string_view value) {
    type = type || ((name == HtmlAttribute::property || name == HtmlAttribute::name) && value == "og:type");
    if (name != HtmlAttribute::content) return;
    one_thing = one_thing || value.find(kArticle) != std::string_view::npos;
    product = product || value.find(kProduct) != std::string_view::npos;
  });
  one_thing_ = one_thing_ || (type && one_thing);
  product_ = product_ || (type && product);
}

void PageKind::see_attribute(HtmlAttribute name, std::string_view value) {
  if (name == HtmlAttribute::itemtype) forum_ = forum_ || has_one_of(value, kForumTypes);
  if (forum_ || (name != HtmlAttribute::class_ && name != HtmlAttribute::id)) return;
  value = value.substr(0, kBytesRead);
  while (!value.empty()) {
    size_t size = 0;
    while (size < value.size() && is_letter(value[size]) &&
           !(size > 0 && value[size] <= 'Z' && value[size - 1] >= 'a')) {
      ++size;
    }
    forum_ = forum_ || is_forum_word(value.substr(0, size));
    value.remove_prefix(size);
    while (!value.empty() && !is_letter(value.front())) value.remove_prefix(1);
  }
}

void PageKind::see_data(std::string_view json, bool product) {
  forum_ = forum_ || has_one_of(json, kForumTypes);
  one_thing_ = one_thing_ || has_one_of(json, kArticleTypes);
  product_ = product_ || product;
}

}  // namespace doppel
