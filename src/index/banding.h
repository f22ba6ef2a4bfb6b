#pragma once
// Bands and rows: the S-curve that decides which pairs become candidates.

#include <cstdint>

#include "absl/status/statusor.h"

namespace doppel {

struct Banding {
  int bands = 0;
  int rows = 0;
  int mask_words() const { return (bands + 31) / 32; }  // 32-bit words with a bit for each band
  bool operator==(const Banding&) const = default;
};

// The probability that two documents of Jaccard similarity s share a band: 1-(1-s^r)^b.
double meeting_probability(double s, Banding banding);

// The cost of a document with these bands and rows, in table accesses, if its neighbours are distributed like
// those of web pages (docs/adr/0025): each table is queried and filled, and each neighbour that shares a band
// is compared. Only for choosing.
double banding_cost(double threshold, Banding banding);

// Returns the cheapest banding that reaches `recall` at `threshold`; for each r it considers the smallest b
// with r*b <= num_perm. 11 x 4 for .8, .995 and 128. An error says what would be possible.
absl::StatusOr<Banding> choose_banding(double threshold, double recall, int num_perm);

// The number of equal slices of a document at the threshold, minus five standard errors. Candidates with
// fewer are not verified.
int min_equal_slices(uint32_t threshold_ppm, int num_perm);

}  // namespace doppel
