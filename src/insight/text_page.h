#pragma once
// Pages that show texts of documents: the frame and style of a page, two texts side by side with their
// differences marked, and a text with passages marked. Everything from documents is escaped. A page is one
// file: it loads nothing and runs no script.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "insight/show.h"
#include "insight/text_diff.h"

namespace doppel {

// Begins a page up to its content. `style`: rules besides the common ones.
void begin_page(Lines& page, std::string_view title, std::string_view style);
void end_page(Lines& page);

// Adds two pieces of HTML side by side; one below the other where the page is narrow.
void add_row(Lines& page, std::string_view left, std::string_view right);

struct DifferenceLimits {
  size_t context = 25;      // equal words shown beside a change
  size_t piece = SIZE_MAX;  // bytes shown of a changed piece
  // If set, adds about so many bytes of HTML. Equal words that are left out are then only counted; else a
  // reader can open them.
  size_t bytes = SIZE_MAX;
};
// Adds both texts side by side, with what differs marked.
void add_differences(Lines& page, const TextDiff& diff, const DifferenceLimits& limits);

// Returns the text as HTML, with the passages (ascending) marked. Leaves out what is more than `around` bytes
// away from a passage.
std::string marked(std::string_view text, const std::vector<Passage>& passages, size_t around = SIZE_MAX);

// The longest beginning of `text` that has at most `most` bytes and ends between two characters.
std::string_view utf8_prefix(std::string_view text, size_t most);

}  // namespace doppel
