#pragma once
// The output of `doppel explain`, for people and for programs.

#include <string>

#include "insight/explanation.h"
#include "insight/text_diff.h"

namespace doppel {

struct ExplainStyle {
  bool colour = false, utf8 = false;
  size_t context = 12;  // equal words to show on each side of a change
};
std::string explain_text(const Explanation& e, const TextDiff& diff, const ExplainStyle& style);
std::string explain_json(const Explanation& e, const TextDiff& diff);

}  // namespace doppel
