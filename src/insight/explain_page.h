#pragma once
// An explanation as a self-contained HTML page: the verdict, the numbers, the bands, and both texts side by
// side with the differences marked. Everything from documents is escaped.

#include <string>
#include <string_view>
#include <vector>

#include "insight/explanation.h"
#include "insight/text_diff.h"

namespace doppel {

// A number and its origin: "exact", "0.913043", "21 of 23 shingles".
struct Measure {
  std::string name, value, detail;
};
std::vector<Measure> measures(const Explanation& e);

// "What differs: ...", or why nothing differs.
std::string difference_in_words(const TextDiff& diff);

// Describes the passages of one text that the other one has, too: where each is, and how it begins.
std::vector<std::string> passages_in_words(std::string_view text, const std::vector<Passage>& passages);
// Whether the passages tell more than the difference.
bool shows_passages(const Explanation& e);

std::string explain_page(const Explanation& e, const TextDiff& diff);

}  // namespace doppel
