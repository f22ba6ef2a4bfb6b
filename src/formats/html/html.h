#pragma once
// The text of an HTML page, by libxml2's parser in its event form: no tree is built, so that a page can
// neither take much memory nor end in work that grows with the square of its size.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "formats/html/html_main.h"

namespace doppel {

// Part of the data scheme of formats that read HTML: raise it when the same page gives another text.
inline constexpr int kHtmlVersion = 4;

enum class Extract : unsigned char {
  none,     // the markup itself
  visible,  // what a reader sees: no scripts, styles, hidden elements, comments, noscript
  main      // of that, without navigation, headers, footers and other boilerplate; where next to nothing is
            // left, the articleBody of the page's data (JSON-LD)
};

// Where the text of a page is from.
enum class TextSource : unsigned char {
  page,     // what was asked for
  data,     // the page's data
  fallback  // menus, footers and single lines: nothing else was found, so different pages may have the same
};
// For events: empty, "data", "fallback".
std::string_view text_source_name(TextSource source);

// What is more than this is refused: nothing that a person would read.
inline constexpr int kMaxHtmlDepth = 512;
inline constexpr size_t kMaxHtmlElements = 1'000'000;

// Whether bytes that nobody has named begin like HTML.
bool looks_like_html(std::string_view text);

// A block of the page's visible text, and what `main` made of it.
struct HtmlPiece {
  std::string_view text;
  BlockFate fate;
};

// One for each thread.
class HtmlExtractor {
 public:
  HtmlExtractor();
  ~HtmlExtractor();
  HtmlExtractor(const HtmlExtractor&) = delete;
  HtmlExtractor& operator=(const HtmlExtractor&) = delete;

  // `html` is UTF-8. Blocks end in line feeds, white space is one space. The text lives until the next call.
  absl::StatusOr<std::string_view> text(std::string_view html, Extract what);

  TextSource source() const;  // of the last page's text

  // All blocks of the last page by `main`, in the order of the page. Views live until the next call of
  // text().
  std::vector<HtmlPiece> pieces() const;
  // What the last page cost besides libxml2's own work, in elements and bytes looked at.
  uint64_t steps() const;

 private:
  class Page;
  std::unique_ptr<Page> page_;
};

}  // namespace doppel
