#pragma once
// An explanation as one HTML page that needs nothing else: the verdict, the numbers, the bands, and both
// texts side by side with what differs marked. Everything that comes from documents is escaped.

#include <string>
#include <vector>

#include "insight/explanation.h"
#include "insight/text_diff.h"

namespace doppel {

// One number and where it comes from: "exact", "0.913043", "21 of 23 shingles".
struct Measure {
  std::string name, value, detail;
};
std::vector<Measure> measures(const Explanation& e);

// "What differs: ..." or why nothing does.
std::string difference_in_words(const TextDiff& diff);

std::string explain_page(const Explanation& e, const TextDiff& diff);

}  // namespace doppel
