#include "index/compare.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace doppel {
namespace {

// Each level gives the bits of the scalar form, for every number of slices.
TEST(EqualBits, AreTheSameForEveryLevel) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int k = 1; k <= 300; ++k) {
    std::vector<uint8_t> a(static_cast<size_t>(k)), b(static_cast<size_t>(k));
    for (size_t i = 0; i < a.size(); ++i) {
      a[i] = static_cast<uint8_t>(random());
      b[i] = random() % 3 == 0 ? static_cast<uint8_t>(random()) : a[i];
    }
    std::vector<uint64_t> wanted(6, 7);
    const int count = equal_bits_scalar(a.data(), b.data(), k, wanted.data());
    for (const Simd level : simd_levels()) {
      std::vector<uint64_t> bits(6, 7);
      EXPECT_EQ(equal_bits_for(level)(a.data(), b.data(), k, bits.data()), count) << simd_name(level) << k;
      EXPECT_EQ(bits, wanted) << simd_name(level) << " " << k;
    }
  }
}

}  // namespace
}  // namespace doppel
