#pragma once
// Small parts of the theory that can be checked by hand.

#include <string>
#include <string_view>
#include <vector>

namespace doppel::lab {

// Where 1-(1-s^r)^b rises fastest: ((r-1)/(b r - 1))^(1/r); 0 for r = 1.
double steepest_point(int rows, int bands);

// All different runs of `words` words, sorted.
std::vector<std::string> word_shingles(std::string_view text, size_t words);

}  // namespace doppel::lab
