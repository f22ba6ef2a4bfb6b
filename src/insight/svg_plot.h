#pragma once
// The picture of a rule: the S-curve, the threshold and where the curve is steepest; below it, on the same
// axis, how many pairs of a sample are how similar. One SVG file that needs nothing else and is
// readable on light and dark ground.

#include <cstdint>
#include <string>
#include <vector>

#include "index/banding.h"

namespace doppel {

struct RulePicture {
  Banding banding;
  int num_perm = 128;
  double threshold = 0.8;
  std::vector<uint64_t> pairs;  // by similarity, in equal steps from 0 to 1; empty: no sample
  std::string sample;           // "20,000 documents of crawl.jsonl"
  double suggested = 0;         // 0: none
};
std::string draw_rule(const RulePicture& picture);

// Where 1-(1-s^r)^b rises fastest.
double steepest_similarity(Banding banding);

}  // namespace doppel
