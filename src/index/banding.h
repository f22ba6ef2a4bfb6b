#pragma once
// Bands and rows: the S-curve that decides which pairs meet.

#include <cstdint>

#include "absl/status/statusor.h"

namespace doppel {

struct Banding {
  int bands = 0;
  int rows = 0;
  bool operator==(const Banding&) const = default;
};

// Probability that two documents of Jaccard similarity s meet in at least one band: 1-(1-s^r)^b.
double meeting_probability(double s, Banding banding);

// The largest r with r*b <= num_perm for which the smallest b reaches `recall` at `threshold`.
// 18 x 6 for .8, .995 and 128. An error says what would be possible.
absl::StatusOr<Banding> choose_banding(double threshold, double recall, int num_perm);

// The least number of equal slices that a document at the threshold has but for five standard errors:
// candidates below it are not verified.
int min_equal_slices(uint32_t threshold_ppm, int num_perm);

}  // namespace doppel
