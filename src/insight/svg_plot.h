#pragma once
// Draws a rule: the S-curve, the threshold, and where the curve is steepest; below, on the same axis, how
// many pairs of a sample have which similarity. The SVG is self-contained and readable on light and dark
// backgrounds.

#include <cstdint>
#include <string>
#include <vector>

#include "index/banding.h"

namespace doppel {

struct RulePicture {
  Banding banding;
  int num_perm = 128;
  double threshold = 0.8;
  std::vector<uint64_t> pairs;  // by similarity, in equal steps from 0 to 1; empty without a sample
  std::string sample;           // "20,000 documents of crawl.jsonl"
  double suggested = 0;         // 0 if there is none
};
std::string draw_rule(const RulePicture& picture);

// Returns where 1-(1-s^r)^b rises fastest.
double steepest_similarity(Banding banding);

}  // namespace doppel
