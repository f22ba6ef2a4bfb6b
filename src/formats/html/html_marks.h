#pragma once
// What an element says of itself by its name, role, class, id and itemprop.

#include <cstdint>
#include <string_view>

namespace doppel {

using Marks = uint32_t;

inline constexpr Marks kMarkBoilerplate = 1;  // navigation, footer, teasers: unless most text is in it
inline constexpr Marks kMarkComments = 2;     // what readers wrote below
inline constexpr Marks kMarkContent = 4;      // main, article, itemprop=articleBody
inline constexpr Marks kMarkMain = 32;        // of these the surest: main, itemprop=articleBody
inline constexpr Marks kMarkControl = 8;      // a button, a choice: whatever is in it
inline constexpr Marks kMarkConsent = 64;     // a dialog, such as one about cookies: never part of the text
inline constexpr Marks kMarkSite = 256;       // navigation or a footer, which all pages of a site share
inline constexpr Marks kMarkHolds = 128;      // what says that it is content is in it (found by Region)
inline constexpr Marks kMarkForm = 4096;      // boilerplate if there is little text in it
inline constexpr Marks kMarkShow = 16384;     // boilerplate on the page of one article or product
inline constexpr Marks kMarkMenu = 32768;     // boilerplate of the site if it is links
inline constexpr Marks kMarkLead = 16;        // what introduces the text, if it is before it

Marks marks_of_element(std::string_view name);
Marks marks_of_attribute(std::string_view name, std::string_view value);

}  // namespace doppel
