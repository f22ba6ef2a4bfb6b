#pragma once
// The tags of a page as bytes, in order, without a tree: where each begins and ends, and the few attributes
// that say what is hidden. For the rare pages that are rearranged before they are parsed.

#include <string_view>
#include <vector>

namespace doppel {

struct ScannedTag {
  size_t begin = 0, end = 0;  // from < to behind >
  std::string_view name;      // as it is written
  std::string_view id;
  std::string_view data_sid, data_target;  // of React's templates that stand for a script
  bool closing = false;
  bool hidden = false;
  bool script = false;           // an inline one
  size_t text_end = 0;           // of a script: where its text ends
  bool directly_behind = false;  // there is nothing but white space and comments before, up to the last tag
};

struct ScannedComment {
  size_t begin = 0, end = 0;  // from <!-- to behind -->
  std::string_view text;
};

struct ScannedPage {
  std::vector<ScannedTag> tags;
  std::vector<ScannedComment> comments;
};

bool equal_names(std::string_view a, std::string_view b);  // in any case
// Whether such an element never holds anything.
bool is_void_element(std::string_view name);
// "display:none" or "visibility:hidden" in a style attribute, with any spaces.
bool hides(std::string_view style);

// Views live as long as the page. Linear.
ScannedPage scan_html(std::string_view html);

}  // namespace doppel
