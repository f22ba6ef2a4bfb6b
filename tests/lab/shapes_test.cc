// The results that the experiments must show for any seed, on small documents.
#include <gtest/gtest.h>

#include <cmath>

#include "lab/minhash_study.h"

namespace doppel::lab {
namespace {

class Shapes : public ::testing::TestWithParam<uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, Shapes, ::testing::Values(1, 2, 3));

TEST_P(Shapes, ErrorFallsAsTheRootOfPermutations) {
  const uint64_t seed = GetParam();
  const MinHash base = MinHash::create(make_news({.documents = 60}, seed), 1).value();
  auto mean_square = [&](int permutations) {
    const MinHashMatrix matrix = base.again(permutations, {.seed = seed + 1}).value().minHashMatrix();
    double sum = 0;
    int pairs = 0;
    for (size_t i = 0; i < 60; ++i) {
      for (size_t j = 0; j < i; ++j, ++pairs) {
        sum += std::pow(base.exact(i, j) - approximate(matrix.row(i), matrix.row(j)), 2);
      }
    }
    return sum / pairs;
  };
  // Sixteen times the permutations: a sixteenth of the variance.
  const double ratio = mean_square(100) / mean_square(1600);
  EXPECT_GT(ratio, 8);
  EXPECT_LT(ratio, 32);
}

TEST_P(Shapes, BandsTradeFalseNegativesForFalsePositives) {
  const uint64_t seed = GetParam();
  const Collection documents =
      with_near_copies(make_news({.documents = 60}, seed), 3, {.normal = true, .a = .85, .b = .05}, seed + 1);
  const MinHash study = MinHash::create(documents, 240, {.seed = seed + 2}).value();
  const MinHashMatrix matrix = study.minHashMatrix();
  double last_missed = INFINITY;
  double last_false = -1;
  for (int bands : {4, 12, 40, 120}) {
    const LSH lsh = LSH::create(matrix, study.allDocs(), bands, {.seed = seed + 3}).value();
    const LSH wide =
        LSH::create(matrix, study.allDocs(), bands, {.seed = seed + 3, .wide_buckets = true}).value();
    double missed = 0;
    double wrong = 0;
    double wrong_wide = 0;
    for (size_t d = 0; d < documents.size(); d += 4) {
      size_t right = 0;
      for (uint32_t c : lsh.near_duplicates_of(d)) {
        if (c / 4 == d / 4) {
          ++right;
        } else {
          wrong += 1.0 / 60;
        }
      }
      for (uint32_t c : wide.near_duplicates_of(d)) wrong_wide += c / 4 == d / 4 ? 0 : 1.0 / 60;
      missed += static_cast<double>(3 - right) / 60;
    }
    EXPECT_LE(missed, last_missed) << bands;
    EXPECT_GT(wrong, last_false) << bands;
    // About one other document per bucket and band, as long as bands are few.
    if (bands <= 40) {
      EXPECT_NEAR(wrong / bands, 1, .4) << bands;
    }
    if (bands <= 12) {
      EXPECT_LT(wrong_wide, .05) << bands;
    }
    last_missed = missed;
    last_false = wrong;
  }
}

}  // namespace
}  // namespace doppel::lab
