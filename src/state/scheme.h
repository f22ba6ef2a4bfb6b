#pragma once
// Lines of "name=value": what an index was made with, compared by name.

#include <string>
#include <string_view>
#include <vector>

namespace doppel {

// One line for every name whose value differs: "num_perm: this directory was made with 128, now 64".
std::vector<std::string> scheme_differences(std::string_view stored, std::string_view now);

}  // namespace doppel
