#pragma once
// Bands and rows: the S-curve that decides which pairs meet.

#include <cstdint>

#include "absl/status/statusor.h"

namespace doppel {

struct Banding {
  int bands = 0;
  int rows = 0;
  int mask_words() const { return (bands + 31) / 32; }  // of 32 bits: a bit for each band
  bool operator==(const Banding&) const = default;
};

// Probability that two documents of Jaccard similarity s meet in at least one band: 1-(1-s^r)^b.
double meeting_probability(double s, Banding banding);

// What a document costs with these bands and rows, in accesses to a table, where its neighbours are like
// those of web pages (docs/adr/0025): a table is asked and filled; a neighbour that it meets is compared.
// Only for choosing.
double banding_cost(double threshold, Banding banding);

// For each r the smallest b with r*b <= num_perm that reaches `recall` at `threshold`; of these the one that
// costs least. 11 x 4 for .8, .995 and 128. An error says what would be possible.
absl::StatusOr<Banding> choose_banding(double threshold, double recall, int num_perm);

// The least number of equal slices that a document at the threshold has but for five standard errors:
// candidates below it are not verified.
int min_equal_slices(uint32_t threshold_ppm, int num_perm);

}  // namespace doppel
