#pragma once
// Character references by the HTML standard: names with and without a semicolon, and numbers.

#include <array>
#include <cstddef>
#include <string_view>

namespace doppel {

// Resolves the reference at the start of `text`, which begins with an ampersand. Returns its length, or 0 if
// it is no reference but text. `out` gets its characters; those of a number are in `buffer`.
size_t resolve_reference(std::string_view text, bool in_attribute, std::string_view& out,
                         std::array<char, 4>& buffer);

}  // namespace doppel
