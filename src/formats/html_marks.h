#pragma once
// What an element says of itself by its name, role, class, id and itemprop.

#include <cstdint>
#include <string_view>

namespace doppel {

using Marks = uint8_t;

inline constexpr Marks kMarkBoilerplate = 1;  // navigation, footer, teasers: unless most text is in it
inline constexpr Marks kMarkComments = 2;     // what readers wrote below
inline constexpr Marks kMarkContent = 4;      // main, article, itemprop=articleBody
inline constexpr Marks kMarkMain = 32;        // of these the surest: main, itemprop=articleBody
inline constexpr Marks kMarkControl = 8;      // a button, a choice: whatever is in it
inline constexpr Marks kMarkLead = 16;        // what introduces the text, if it is before it

Marks marks_of_element(std::string_view name);
Marks marks_of_attribute(std::string_view name, std::string_view value);

}  // namespace doppel
