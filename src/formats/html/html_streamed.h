#pragma once
// Moves the parts of a page to where its own scripts move them. A server that renders while it sends has
// already sent the page around a slow part when the part is ready. It then sends the part after everything
// else, hidden or as a template, with a line of script that moves it (React, Solid, Marko, Leptos and
// others). A reader sees the part.

#include <string>
#include <string_view>
#include <vector>

namespace doppel {

// Moves each such part to its place, and removes what was shown there while it loaded. Returns false if no
// part is moved; then `out` is undefined. Linear in the page.
//
// A part is a hidden element with an id, or a template. A script moves it if it calls, outside any function,
// a function whose arguments are all literals and name the part and perhaps its place, provided that the
// function (defined in a script of the page) moves nodes or that the place is an empty template. A script
// directly after a template may also move it itself.
bool place_moved_parts(std::string_view html, std::string& out);

// Scans the tags of a page in order, without building a tree: where each begins and ends, and the few
// attributes that hide elements. For the rare pages that are rearranged before they are parsed.
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

// Finds the calls that an inline script makes when it runs: those outside functions, with only literals as
// arguments.
struct ScriptCall {
  std::string_view function;                // the last name: "swap" for window.swap("a")
  std::vector<std::string_view> arguments;  // strings without quotes, numbers as written
};

// Linear. Finds fewer calls in scripts that it does not understand.
std::vector<ScriptCall> immediate_calls(std::string_view script);

// The text around the place where the script defines the function; "" if it does not.
std::string_view definition_of(std::string_view function, std::string_view script);

// The strings in a script that are short enough to be part of an id.
std::vector<std::string_view> short_strings(std::string_view script);

// Whether the script calls DOM functions that move nodes.
bool moves_nodes(std::string_view script);

}  // namespace doppel
