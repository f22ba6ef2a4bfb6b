#pragma once
// What `doppel explain` says, for people and for machines.

#include <string>

#include "insight/explanation.h"
#include "insight/text_diff.h"

namespace doppel {

struct ExplainStyle {
  bool colour = false, utf8 = false;
  size_t context = 12;  // equal words shown at either side of a change
};
std::string explain_text(const Explanation& e, const TextDiff& diff, const ExplainStyle& style);
std::string explain_json(const Explanation& e, const TextDiff& diff);

}  // namespace doppel
