#pragma once
// Charts of the last hour as inline SVG. The colours are the page's CSS variables.

#include <string>
#include <vector>

#include "status/activity.h"

namespace doppel {

// Documents per second, stacked by verdict.
void append_rate_chart(std::string& out, const std::vector<Sample>& samples);
// The share of copies among the compared documents, from 0 to 1, with gaps while none were compared.
void append_ratio_chart(std::string& out, const std::vector<Sample>& samples);

}  // namespace doppel
