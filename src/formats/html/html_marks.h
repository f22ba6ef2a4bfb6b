#pragma once
// What an element's name, role, class, id and itemprop say about its content.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats/html/html_tokens.h"

namespace doppel {

using Marks = uint32_t;

inline constexpr Marks kMarkBoilerplate = 1;  // navigation, footer, teasers; ignored if it contains most text
inline constexpr Marks kMarkComments = 2;     // comments by readers, below the text
inline constexpr Marks kMarkContent = 4;      // main, article, itemprop=articleBody
inline constexpr Marks kMarkMain = 32;        // the strongest marks of content: main, itemprop=articleBody
inline constexpr Marks kMarkControl = 8;      // a button or a choice, with all its content
inline constexpr Marks kMarkConsent = 64;     // a dialog, for example about cookies: never part of the text
inline constexpr Marks kMarkSite = 256;       // navigation or a footer, shared by all pages of a site
inline constexpr Marks kMarkHolds = 128;      // contains an element marked as content (set by Region)
inline constexpr Marks kMarkForm = 4096;      // boilerplate if it contains little text
inline constexpr Marks kMarkShow = 16384;     // boilerplate on a page about one article or product
inline constexpr Marks kMarkMenu = 32768;     // boilerplate of the site if it contains mostly links
inline constexpr Marks kMarkLead = 16;        // introduces the text, if it comes before it

// What the page's author says by the markup itself: the element, its role, its itemprop.
Marks marks_of_element(std::string_view name);
Marks marks_of_attribute(HtmlAttribute name, std::string_view value);
// What the words of a class or id suggest. Names of utility classes ("text-caption", "dark:bg-footer",
// "-tracking-1") describe looks, and those of topics ("category-books", "tag-cookies") describe the article,
// so they suggest nothing.
Marks marks_of_names(std::string_view value);

// Remembers the marks of class values: the elements of a page, and of a site's pages, have few different
// ones.
class MarksMemory {
 public:
  Marks of_names(std::string_view value);

 private:
  struct Known {
    std::string value;
    Marks marks = 0;
  };
  static constexpr size_t kKnown = 1024;
  static constexpr size_t kLongest = 200;  // bytes; longer values are rare
  std::vector<Known> known_;
};

}  // namespace doppel
