#pragma once
// Extracts the text of an HTML page from the events of HtmlParser. Builds no tree, so that a page cannot use
// much memory or cause quadratic work.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/reason.h"
#include "formats/html/html_main.h"

namespace doppel {

// Part of the data scheme of formats that read HTML. Increment it when the same page gives another text.
inline constexpr int kHtmlVersion = 11;

enum class Extract : unsigned char {
  none,     // the markup itself
  visible,  // what a reader sees: no scripts, styles, hidden elements, comments, noscript
  main  // the same without navigation, headers, footers and other boilerplate; or the article in the page's
        // data (JSON-LD) or in the state of its scripts
};

// Where the text of a page comes from.
enum class TextSource : unsigned char {
  page,     // the page, as requested
  data,     // the page's JSON-LD data, or the state of its scripts
  fallback  // only menus, footers and single lines were found, so different pages may have the same text; or
            // the page has hardly any text, and scripts that make it
};
// The name in events: "", "data", "fallback".
std::string_view text_source_name(TextSource source);

// Larger pages are rejected; no page that people read is so large.
inline constexpr int kMaxHtmlDepth = 512;
inline constexpr size_t kMaxHtmlElements = 1'000'000;

// Whether bytes of unknown type start like HTML.
bool looks_like_html(std::string_view text);

// A block of the page's visible text, and what `main` did with it.
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

  // Extracts the text of `html`, which is UTF-8. Blocks end in line feeds; each run of white space becomes a
  // space. The text is valid until the next call.
  absl::StatusOr<std::string_view> text(std::string_view html, Extract what);

  TextSource source() const;  // of the last page's text
  // Why the last page's text is not the page's own: `needs_javascript` if scripts make the page and it says
  // only that they must run, `fallback`, or none.
  Reason why_unscored() const;

  // All blocks of the last page read with `main`, in page order. Views are valid until the next call of
  // text().
  std::vector<HtmlPiece> pieces() const;
  // The cost of the last page beside passing over bytes: tags, elements closed or climbed, bytes of data.
  uint64_t steps() const;

 private:
  class Page;
  std::unique_ptr<Page> page_;
};

}  // namespace doppel
