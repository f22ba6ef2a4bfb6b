#pragma once
// Resolves character references by the HTML standard, for a parser that knows HTML 4: names with and without
// a semicolon, and the numbers of windows-1252's control characters.

#include <string>
#include <string_view>

namespace doppel {

// Replaces the references that libxml2 resolves differently or not at all. Returns false if there are none;
// then `out` is undefined. Markup characters become references that libxml2 knows.
bool resolve_references(std::string_view html, std::string& out);

}  // namespace doppel
