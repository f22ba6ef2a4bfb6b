#include "sketch/sketch.h"

#include <algorithm>
#include <cmath>

#include "sketch/fast_rounds.h"
#include "sketch_support.h"

namespace doppel {
namespace {

using Slots = std::vector<uint64_t>;
constexpr HashKey kKey{0x0123456789abcdef, 0xfedcba9876543210};

Slots sketch_of(const Sketcher& sketcher, std::span<const uint64_t> shingles) {
  Slots slots(static_cast<size_t>(sketcher.num_perm()));
  sketcher.clear(slots.data());
  sketcher.update(slots.data(), shingles);
  return slots;
}

// The definition: the minimum over all shingles and all 2k rounds, without stopping early.
Slots fast_by_definition(int k, std::span<const uint64_t> shingles) {
  Slots slots(static_cast<size_t>(k), kEmptySlot);
  for (int round = 0; round < 2 * k; ++round) {
    const RoundKey key{kKey.derive("fast sketch", 2 * round), kKey.derive("fast sketch", 2 * round + 1) | 1};
    for (uint64_t x : shingles) {
      uint32_t bin = round == 0  ? first_bin(x, k)
                     : round < k ? round_bin(x, key, k)
                                 : static_cast<uint32_t>(round - k);
      slots[bin] = std::min(slots[bin], round == 0 ? first_slot(x) : round_slot(x, key, round));
    }
  }
  return slots;
}

Slots classic_by_definition(int k, std::span<const uint64_t> shingles) {
  Slots slots(static_cast<size_t>(k), kEmptySlot);
  for (int i = 0; i < k; ++i) {
    for (uint64_t x : shingles) slots[i] = std::min(slots[i], mix64(x ^ kKey.derive("classic sketch", i)));
  }
  return slots;
}

class SketchLevels : public ForEachLevel {};
INSTANTIATE_TEST_SUITE_P(Simd, SketchLevels, testing::ValuesIn(simd_levels()), level_name);

TEST_P(SketchLevels, FastIsTheMinimumOverAllRounds) {
  std::mt19937_64 random(testing::UnitTest::GetInstance()->random_seed() + 1);
  for (int k : {8, 9, 63, 100, 127, 128, 130, 256, 300, 1000, 1024}) {
    Sketcher sketcher(SketchFamily::fast, k, kKey);
    for (size_t n : {1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 30, 100, 579}) {
      auto shingles = random_hashes(random, n);
      ASSERT_EQ(sketch_of(sketcher, shingles), fast_by_definition(k, shingles)) << "k=" << k << " n=" << n;
    }
  }
}

// Long documents, of whose shingles a kernel may skip most.
TEST_P(SketchLevels, FastIsTheMinimumOverAllRoundsOfLongDocuments) {
  std::mt19937_64 random(8);
  for (int k : {8, 100, 128}) {
    Sketcher sketcher(SketchFamily::fast, k, kKey);
    for (size_t n : {1025, 1600, 6000}) {
      auto shingles = random_hashes(random, n);
      ASSERT_EQ(sketch_of(sketcher, shingles), fast_by_definition(k, shingles)) << "k=" << k << " n=" << n;
    }
  }
}

TEST_P(SketchLevels, ClassicIsTheMinimumOverAllShingles) {
  std::mt19937_64 random(2);
  for (int k : {8, 9, 127, 128, 130, 1024}) {
    Sketcher sketcher(SketchFamily::classic, k, kKey);
    for (size_t n : {1, 2, 7, 8, 33, 100}) {
      auto shingles = random_hashes(random, n);
      ASSERT_EQ(sketch_of(sketcher, shingles), classic_by_definition(k, shingles)) << "k=" << k << " n=" << n;
    }
  }
}

TEST_P(SketchLevels, AnySplitAndAnyMergeGiveTheSketchOfTheWhole) {
  for (int seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const int k = std::vector<int>{8, 64, 128, 130}[random() % 4];
    Sketcher sketcher(seed % 8 == 0 ? SketchFamily::classic : SketchFamily::fast, k, kKey);
    auto shingles = random_hashes(random, 1 + random() % (seed % 3 == 0 ? 20 : 900));
    const Slots whole = sketch_of(sketcher, shingles);
    for (size_t i = 0; i < shingles.size() / 4; ++i) shingles.push_back(shingles[random() % shingles.size()]);
    std::shuffle(shingles.begin(), shingles.end(), random);

    Slots split(static_cast<size_t>(k));
    Slots merged(static_cast<size_t>(k));
    sketcher.clear(split.data());
    sketcher.clear(merged.data());
    for (std::span<const uint64_t> rest = shingles; !rest.empty();) {
      auto part = rest.first(std::min<size_t>(rest.size(), random() % (random() % 2 == 0 ? 5 : 400)));
      rest = rest.subspan(part.size());
      sketcher.update(split.data(), part);
      sketcher.merge(merged.data(), sketch_of(sketcher, part).data());
    }
    ASSERT_EQ(split, whole);
    ASSERT_EQ(merged, whole);
  }
}

// Few distinct shingles, each many times: the pass that drops repeats must not change the sketch.
TEST_P(SketchLevels, ManyRepeatsGiveTheSketchOfTheDistinct) {
  std::mt19937_64 random(3);
  for (int k : {8, 128, 1024}) {
    Sketcher sketcher(SketchFamily::fast, k, kKey);
    for (size_t distinct : {1, 2, 20, 90, 500, 5000}) {
      auto shingles = random_hashes(random, distinct);
      shingles[0] = 0;
      const Slots expected = sketch_of(sketcher, shingles);
      std::vector<uint64_t> repeated;
      for (size_t i = 0; i < 20'000; ++i) repeated.push_back(shingles[i % distinct]);
      ASSERT_EQ(sketch_of(sketcher, repeated), expected) << "k=" << k << " distinct=" << distinct;
    }
  }
}

TEST(Sketch, OfNothingIsEmptyAndUnionWithNothingIsTheSame) {
  Sketcher sketcher(SketchFamily::fast, 128, kKey);
  const Slots nothing = sketch_of(sketcher, {});
  EXPECT_EQ(nothing, Slots(128, kEmptySlot));
  std::mt19937_64 random(4);
  const Slots some = sketch_of(sketcher, random_hashes(random, 50));
  Slots both = some;
  sketcher.merge(both.data(), nothing.data());
  EXPECT_EQ(both, some);
}

TEST(Sketch, EverySlotIsFilledByOneShingle) {
  for (int k : {8, 128, 1024}) {
    Sketcher sketcher(SketchFamily::fast, k, kKey);
    const uint64_t one[] = {0x9e3779b97f4a7c15};
    for (uint64_t slot : sketch_of(sketcher, one)) EXPECT_NE(slot, kEmptySlot);
  }
}

TEST(Sketch, DependsOnTheKey) {
  std::mt19937_64 random(5);
  auto shingles = random_hashes(random, 10);
  Sketcher one(SketchFamily::fast, 128, kKey);
  Sketcher two(SketchFamily::fast, 128, HashKey{kKey.low, kKey.high + 1});
  EXPECT_LT(estimate_jaccard(sketch_of(one, shingles).data(), sketch_of(two, shingles).data(), 128), .3);
}

// The stored form of a signature: if it changes, every index must be rebuilt.
TEST(Sketch, SlicesNeverChange) {
  std::mt19937_64 random(6);
  auto shingles = random_hashes(random, 40);
  std::vector<uint8_t> slices(16);
  Sketcher fast(SketchFamily::fast, 16, kKey);
  fast.slices(sketch_of(fast, shingles).data(), slices.data());
  EXPECT_EQ(slices, (std::vector<uint8_t>{0x9e, 0xa3, 0x6d, 0x34, 0xe5, 0x6c, 0xda, 0x3b, 0xa5, 0x6c, 0xed,
                                          0x26, 0x30, 0x0c, 0xca, 0xc4}));
  Sketcher classic(SketchFamily::classic, 16, kKey);
  classic.slices(sketch_of(classic, shingles).data(), slices.data());
  EXPECT_EQ(slices, (std::vector<uint8_t>{0x65, 0x40, 0x99, 0x2c, 0x32, 0x5b, 0x09, 0x28, 0x2e, 0xae, 0x0b,
                                          0xe1, 0xc8, 0x3b, 0x2b, 0xa8}));
}

TEST(Sketch, SlicesOfDifferentShinglesAgreeOneTimeIn256) {
  std::mt19937_64 random(7);
  Sketcher sketcher(SketchFamily::fast, 128, kKey);
  for (size_t n : {3, 579}) {
    int64_t equal = 0;
    const int pairs = 4000;
    for (int i = 0; i < pairs; ++i) {
      uint8_t a[128];
      uint8_t b[128];
      sketcher.slices(sketch_of(sketcher, random_hashes(random, n)).data(), a);
      sketcher.slices(sketch_of(sketcher, random_hashes(random, n)).data(), b);
      equal += equal_slices(a, b, 128);
    }
    EXPECT_NEAR(static_cast<double>(equal), pairs * 128 / 256.0, 4 * std::sqrt(pairs * 128 / 256.0)) << n;
  }
}

TEST(Sketch, OverlapFromSlices) {
  EXPECT_EQ(overlap_from_slices(128, 128), (Overlap{255 * 128, 255 * 128}));
  EXPECT_EQ(overlap_from_slices(0, 128).inter, 0u);
  EXPECT_EQ(overlap_from_slices(1, 256), (Overlap{0, 255 * 256}));
}

TEST(Sketch, Names) {
  EXPECT_EQ(sketch_family_name(SketchFamily::fast), "fast");
  EXPECT_EQ(sketch_family_name(SketchFamily::classic), "classic");
}

}  // namespace
}  // namespace doppel
