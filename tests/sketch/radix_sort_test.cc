#include "sketch/radix_sort.h"

#include <algorithm>

#include "sketch/sketch_support.h"

namespace doppel {
namespace {

class RadixSort : public ForEachLevel {};
INSTANTIATE_TEST_SUITE_P(EachLevel, RadixSort, testing::ValuesIn(simd_levels()), level_name);

// Sizes around those where the method changes; values that are uniform, equal, or in one bucket.
TEST_P(RadixSort, SortsAndCountsLikeTheStandardLibrary) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 400; ++round) {
    const size_t most = round % 20 == 0 ? 3 * kBucketSortMost : round % 3 == 0 ? 80 : 1000;
    std::vector<uint32_t> values(random() % most);
    const uint32_t mask = round % 4 == 0 ? 0xff : round % 4 == 1 ? 0xffff0000 : ~uint32_t{0};
    for (uint32_t& value : values) value = static_cast<uint32_t>(random()) & mask;
    PodVector<uint32_t> sorted;
    sort_tops(values, sorted);
    std::sort(values.begin(), values.end());
    ASSERT_EQ(std::vector<uint32_t>(sorted.begin(), sorted.end()), values);
    const auto end = std::unique(values.begin(), values.end());
    ASSERT_EQ(count_distinct(sorted.data(), sorted.size()), static_cast<size_t>(end - values.begin()));
  }
}

}  // namespace
}  // namespace doppel
