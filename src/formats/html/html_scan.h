#pragma once
// Scans the tags of a page in order, without building a tree: where each begins and ends, and the few
// attributes that hide elements. For the rare pages that are rearranged before they are parsed.

#include <string_view>
#include <vector>

namespace doppel {

struct ScannedTag {
  size_t begin = 0, end = 0;  // from < to after >
  std::string_view name;      // as written
  std::string_view id;
  std::string_view data_sid, data_target;  // of React's templates that replace scripts
  bool closing = false;
  bool hidden = false;
  bool script = false;           // an inline script
  size_t text_end = 0;           // for a raw element: the end of its text
  bool directly_behind = false;  // only white space and comments since the last tag
};

struct ScannedComment {
  size_t begin = 0, end = 0;  // from <!-- to after -->
  std::string_view text;
};

struct ScannedPage {
  std::vector<ScannedTag> tags;
  std::vector<ScannedComment> comments;
};

bool equal_names(std::string_view a, std::string_view b);  // ignores case
// Whether such an element never has content.
bool is_void_element(std::string_view name);
// Whether a style attribute contains "display:none" or "visibility:hidden", with any spaces.
bool hides(std::string_view style);

// Linear. Views are valid as long as the page is.
ScannedPage scan_html(std::string_view html);

}  // namespace doppel
