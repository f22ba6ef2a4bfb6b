#pragma once
// Lines of "name=value": what an index was made with, compared by name.

#include <string>
#include <string_view>
#include <vector>

namespace doppel {

// One line for every name whose value differs: "num_perm: the index was made with 128, now 64".
std::vector<std::string> scheme_differences(std::string_view stored, std::string_view now);

// The same without the names that are accepted. Bands and rows shape what is stored: they are never accepted.
std::vector<std::string> rule_differences(std::string_view stored, std::string_view now,
                                          const std::vector<std::string>& accepted);

}  // namespace doppel
