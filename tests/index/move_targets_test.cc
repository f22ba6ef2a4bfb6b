// Where entries go when a table grows: the fast form against the plain one, and the plain one against the
// layouts.

#include "index/move_targets.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace doppel {
namespace {

class MoveTargetsTest : public testing::Test {
 protected:
  // A group in the middle of some layout and the rule for the next one.
  void make() {
    now_ = Layout::of((100 + random_() % (uint64_t{1} << (8 + random_() % 17))) / kGroup * kGroup);
    next_ = {now_.buckets * 5 / 4 / kGroup * kGroup, now_.bits};
    group_ = random_() % (now_.buckets / kGroup) * kGroup;
    for (uint64_t i = 0; i < kGroup; ++i) {
      first_[i] = now_.first_top(group_ + i);
      rule_.first[i] = static_cast<uint32_t>(first_[i] - first_[0]);
      rule_.first_stored[i] = static_cast<uint32_t>(first_[i]);
    }
    lowest_ = next_.home_of_top(first_[0]) / kGroup * kGroup;
    rule_.bits = next_.bits;
    rule_.buckets = next_.buckets;
    rule_.start = first_[0] * next_.buckets - (lowest_ << rule_.bits);
    rule_.window = {static_cast<uint32_t>(random_()) & kOrdinalMask,
                    static_cast<uint32_t>(random_()) & kOrdinalMask};
  }
  uint32_t ordinal() { return static_cast<uint32_t>(random_()) & kOrdinalMask; }

  const uint64_t seed_ = std::random_device{}();
  std::mt19937_64 random_{seed_};
  Layout now_, next_;
  uint64_t group_ = 0, lowest_ = 0;
  uint64_t first_[kGroup];
  MoveRule rule_;
  Bucket buckets_[kGroup];
};

TEST_F(MoveTargetsTest, PlainFormFollowsTheLayouts) {
  SCOPED_TRACE(testing::Message() << "seed " << seed_);
  for (int round = 0; round < 2000; ++round) {
    make();
    uint8_t expected[kGroup * kSlots];
    uint8_t found[kGroup * kSlots];
    for (uint64_t b = 0; b < kGroup; ++b) {
      buckets_[b] = {};
      for (int slot = 0; slot < kSlots; ++slot) {
        const uint64_t distance = random_() % kDistances;
        const uint64_t home = b ^ distance;
        const uint64_t top = first_[home] + random_() % (now_.first_top(group_ + home + 1) - first_[home]);
        const uint32_t o = ordinal();
        const bool used = random_() % 4 != 0;
        expected[b * kSlots + static_cast<uint64_t>(slot)] =
            used && rule_.window.contains(o) ? static_cast<uint8_t>(next_.home_of_top(top) - lowest_)
                                             : kNowhere;
        put(buckets_[b], slot, static_cast<uint32_t>(top) & kStoredMask, o, static_cast<uint32_t>(distance));
        if (!used) clear(buckets_[b], slot);
      }
    }
    for (Simd level : {Simd::scalar, simd_supported()}) {
      move_targets_for(level)(buckets_, rule_, found);
      ASSERT_EQ(std::memcmp(expected, found, sizeof found), 0) << simd_name(level);
    }
  }
}

TEST_F(MoveTargetsTest, AllLevelsAgreeOnAnything) {
  SCOPED_TRACE(testing::Message() << "seed " << seed_);
  for (int round = 0; round < 2000; ++round) {
    make();
    uint64_t words[sizeof buckets_ / 8];
    for (uint64_t& word : words) word = random_();
    std::memcpy(buckets_, words, sizeof words);
    uint8_t plain[kGroup * kSlots];
    uint8_t fast[kGroup * kSlots];
    move_targets_scalar(buckets_, rule_, plain);
    move_targets_for(simd_supported())(buckets_, rule_, fast);
    ASSERT_EQ(std::memcmp(plain, fast, sizeof fast), 0);
  }
}

}  // namespace
}  // namespace doppel
