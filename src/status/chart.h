#pragma once
// Charts of the last hour as inline SVG; colours are the page's variables.

#include <string>
#include <vector>

#include "status/activity.h"

namespace doppel {

// Documents a second, stacked by verdict.
void append_rate_chart(std::string& out, const std::vector<Sample>& samples);
// Copies among the documents that were compared, 0 to 1; gaps where there were none.
void append_ratio_chart(std::string& out, const std::vector<Sample>& samples);

}  // namespace doppel
