#pragma once
// "Did you mean ...?": finds the nearest name by edit distance.

#include <string>
#include <string_view>
#include <vector>

namespace doppel {

// Returns the number of insertions, deletions, replacements and swaps of neighbours that turn a into b.
int edit_distance(std::string_view a, std::string_view b);

// Returns the nearest candidate, or "" if none is near enough to be meant. "fsync" finds "state.fsync" too.
std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);

// Returns " (did you mean X?)", or "" if no candidate is near.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace doppel
