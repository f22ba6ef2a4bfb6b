#pragma once
// "Did you mean ...?": the nearest of some names, by edit distance.

#include <string>
#include <string_view>
#include <vector>

namespace doppel {

// Insertions, deletions, replacements and swaps of neighbours that turn a into b.
int edit_distance(std::string_view a, std::string_view b);

// The nearest candidate if it is near enough to be meant, else empty. "fsync" finds "state.fsync" too.
std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);

// " (did you mean X?)", or nothing.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace doppel
