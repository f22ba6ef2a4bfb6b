// The filter of a segment: it has every key that was added, and few others, at every level.

#include "index/segment_filter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace doppel {
namespace {

using Random = std::mt19937_64;

uint64_t key_of(Random& random) { return random() >> (64 - kSegmentKeyBits); }

// The words of a filter with these keys, and a block more.
std::vector<uint64_t> filter_of(const FilterShape& shape, std::vector<uint64_t> keys, bool repeated) {
  std::sort(keys.begin(), keys.end());
  FilterBuilder builder(shape);
  std::string bytes;
  const auto solve_up_to = [&](uint64_t chunk) {
    while (builder.chunk() < chunk) bytes.append(builder.solve());
  };
  for (const uint64_t key : keys) {
    solve_up_to(builder.chunk_of(key));
    builder.add(key, repeated);
  }
  solve_up_to(shape.chunks);
  EXPECT_EQ(bytes.size(), shape.bytes());
  std::vector<uint64_t> words(bytes.size() / 8 + shape.columns);
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(words.data()));
  return words;
}

std::vector<uint32_t> probe(FilterProbe kernel, const FilterShape& shape, const std::vector<uint64_t>& words,
                            const std::vector<uint64_t>& keys, bool repeated) {
  std::vector<uint64_t> coefficients;
  for (const uint64_t key : keys) {
    coefficients.push_back(filter_coefficients(key, repeated));
  }
  std::vector<uint32_t> hits(keys.size());
  hits.resize(kernel(words.data(), shape, keys.data(), coefficients.data(), keys.size(), hits.data()));
  return hits;
}

class SegmentFilterTest : public testing::TestWithParam<Simd> {
 protected:
  const FilterProbe kernel = filter_probe_for(GetParam());
};

TEST_P(SegmentFilterTest, HasAllKeysAndFewOthers) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Random random(seed);
  for (const uint64_t n : {0, 1, 2, 60, 1000, 29'000, 31'000, 200'000}) {
    for (const uint32_t columns : {FilterShape::kColumnsLeast, 8u, 11u, FilterShape::kColumnsMost}) {
      // One filter in many has a place with as many keys as slots, where every other key passes; so several
      // filters are counted.
      const int filters = n <= 1000 ? 20 : 4;
      constexpr size_t kOthers = 20'000;
      const FilterShape shape = FilterShape::of(n, columns);
      double hits = 0;
      for (int filter = 0; filter < filters; ++filter) {
        std::vector<uint64_t> keys(n);
        for (uint64_t& key : keys) key = key_of(random);
        std::vector<uint64_t> others(kOthers);
        for (uint64_t& key : others) key = key_of(random);
        const std::vector<uint64_t> words = filter_of(shape, keys, false);
        ASSERT_EQ(probe(kernel, shape, words, keys, false).size(), n) << n << " keys, columns " << columns;
        hits += static_cast<double>(probe(kernel, shape, words, others, false).size());
      }
      // By chance 2^-columns of them, and those on full places.
      const double others = filters * static_cast<double>(kOthers);
      const double expected = others / static_cast<double>(1 << std::min(columns, 30u));
      const double full = others / 50;
      ASSERT_LT(hits, expected * 1.3 + 6 * std::sqrt(expected) + full) << n << " keys, columns " << columns;
    }
  }
}

TEST_P(SegmentFilterTest, KeysThatRepeatAreOtherKeys) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Random random(seed);
  const FilterShape shape = FilterShape::of(5'000, 12);
  // Of several filters, because one in a thousand has a place with as many keys as slots.
  std::vector<size_t> hits;
  for (int filter = 0; filter < 9; ++filter) {
    std::vector<uint64_t> keys(5'000);
    for (uint64_t& key : keys) key = key_of(random);
    const std::vector<uint64_t> words = filter_of(shape, keys, true);
    ASSERT_EQ(probe(kernel, shape, words, keys, true).size(), keys.size());
    hits.push_back(probe(kernel, shape, words, keys, false).size());
  }
  std::sort(hits.begin(), hits.end());
  EXPECT_LT(hits[hits.size() / 2], 30u);
}

TEST_P(SegmentFilterTest, AsScalar) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Random random(seed);
  std::vector<uint64_t> keys(3'000);
  for (uint64_t& key : keys) key = key_of(random);
  const FilterShape shape = FilterShape::of(keys.size(), 5);
  const std::vector<uint64_t> words = filter_of(shape, keys, false);
  for (uint64_t& key : keys) key = key_of(random);
  EXPECT_EQ(probe(kernel, shape, words, keys, false), probe(filter_probe_scalar, shape, words, keys, false));
}

INSTANTIATE_TEST_SUITE_P(Levels, SegmentFilterTest, testing::ValuesIn(simd_levels()),
                         [](const auto& instance) { return std::string(simd_name(instance.param)); });

}  // namespace
}  // namespace doppel
