#include "formats/html/html_kind.h"

#include <algorithm>

#include "formats/html/html_data.h"

namespace doppel {
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
