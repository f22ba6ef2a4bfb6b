#pragma once
// The text of an HTML page, by libxml2's parser in its event form: no tree is built, so that a page can
// neither take much memory nor end in work that grows with the square of its size.

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace doppel {

// Part of the data scheme of formats that read HTML: raise it when the same page gives another text.
inline constexpr int kHtmlVersion = 1;

enum class Extract : unsigned char {
  none,     // the markup itself
  visible,  // what a reader sees: no scripts, styles, hidden elements, comments, noscript
  main      // of that, without navigation, headers, footers and other boilerplate
};

// What is more than this is refused: nothing that a person would read.
inline constexpr int kMaxHtmlDepth = 512;
inline constexpr size_t kMaxHtmlElements = 1'000'000;

// Whether bytes that nobody has named begin like HTML.
bool looks_like_html(std::string_view text);

// One for each thread.
class HtmlExtractor {
 public:
  HtmlExtractor();
  ~HtmlExtractor();
  HtmlExtractor(const HtmlExtractor&) = delete;
  HtmlExtractor& operator=(const HtmlExtractor&) = delete;

  // `html` is UTF-8. Blocks end in line feeds, white space is one space. The text lives until the next call.
  absl::StatusOr<std::string_view> text(std::string_view html, Extract what);

 private:
  class Page;
  std::unique_ptr<Page> page_;
};

}  // namespace doppel
