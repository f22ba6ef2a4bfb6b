#pragma once
// Character references by the HTML standard, for a parser that knows those of HTML 4: names with and without
// a semicolon, and the numbers of windows-1252's control characters.

#include <string>
#include <string_view>

namespace doppel {

// Puts the characters in the place of references that libxml2 would read otherwise, or not at all. False:
// there are none, and `out` is undefined. Characters of markup become references that libxml2 does know.
bool resolve_references(std::string_view html, std::string& out);

}  // namespace doppel
