#pragma once
// Random sets of well-mixed hashes with a printed seed, and every SIMD level that this machine has.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "base/simd.h"

namespace doppel {

// Restores the best level when a test ends.
class ForEachLevel : public testing::TestWithParam<Simd> {
 protected:
  void SetUp() override { force_simd(GetParam()); }
  void TearDown() override { force_simd(simd_supported()); }
};

inline std::string level_name(const testing::TestParamInfo<Simd>& info) {
  return std::string(simd_name(info.param));
}

inline std::vector<uint64_t> random_hashes(std::mt19937_64& random, size_t n) {
  std::vector<uint64_t> hashes(n);
  for (uint64_t& h : hashes) h = random();
  return hashes;
}

// Two sets of n values that share `common` values.
struct Pair {
  std::vector<uint64_t> a;
  std::vector<uint64_t> b;
  double jaccard = 0;
};
inline Pair random_pair(std::mt19937_64& random, size_t n, size_t common) {
  Pair pair{random_hashes(random, n), {}, static_cast<double>(common) / static_cast<double>(2 * n - common)};
  pair.b = random_hashes(random, n);
  std::copy_n(pair.a.begin(), common, pair.b.begin());
  return pair;
}

}  // namespace doppel
