#include "engine/expiry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace doppel {
namespace {

constexpr int64_t kHour = 3'600'000;

Rule rule() { return {.expire_after_ms = 10 * kHour, .generation = 4, .watermark_rank = 3}; }

// Judges and remembers one document per hour.
void take(Expiry& expiry, Seq& next, int64_t time) {
  expiry.observe(time);
  expiry.added(next, expiry.trusted(time));
  ++next;
}

TEST(Expiry, GoesByGenerations) {
  Expiry expiry(rule());
  Seq next = 0;
  for (int hour = 0; hour < 40; ++hour) {
    take(expiry, next, hour * kHour);
    EXPECT_EQ(expiry.lowest_live() % 4, 0u);
    EXPECT_LE(expiry.lowest_live(), static_cast<Seq>(std::max(0, hour - 10)));
  }
  EXPECT_GE(expiry.lowest_live(), 20u);
}

TEST(Expiry, OneWrongClockEmptiesNothingAndKeepsNothing) {
  Expiry expiry(rule());
  Seq next = 0;
  for (int hour = 0; hour < 5; ++hour) take(expiry, next, hour * kHour);
  take(expiry, next, 1'000'000 * kHour);
  EXPECT_EQ(expiry.lowest_live(), 0u);
  for (int hour = 6; hour < 40; ++hour) take(expiry, next, hour * kHour);
  EXPECT_GE(expiry.lowest_live(), 20u);
}

TEST(Expiry, DocumentsWithoutTimeExpireWithTheirNeighbours) {
  Expiry expiry(rule());
  Seq next = 0;
  for (int i = 0; i < 8; ++i) take(expiry, next, kNoTime);
  for (int hour = 0; hour < 30; ++hour) take(expiry, next, hour * kHour);
  EXPECT_GE(expiry.lowest_live(), 16u);
}

TEST(Expiry, GoesOnAfterARestore) {
  Expiry whole(rule());
  Seq next = 0;
  std::vector<int64_t> trusted;
  auto time = [](Seq i) {
    return static_cast<int64_t>(i * 7919 % 50) * kHour / 10 + static_cast<int64_t>(i) * kHour;
  };
  auto step = [&](Expiry& expiry, Seq i) {
    Seq live = expiry.observe(time(i));
    int64_t t = expiry.trusted(time(i));
    expiry.added(i, t);
    return std::pair(live, t);
  };
  for (; next < 25; ++next) trusted.push_back(step(whole, next).second);
  Expiry restored(rule());
  ASSERT_TRUE(restored.start_restore(whole.lowest_live(), whole.state()).ok());
  for (Seq i = whole.lowest_live(); i < next; ++i) restored.added(i, trusted[i]);
  restored.finish_restore();
  for (; next < 100; ++next) EXPECT_EQ(step(whole, next), step(restored, next)) << next;
  EXPECT_GT(whole.lowest_live(), 50u);
}

// A late time of an original whose generation is gone keeps no other generation alive.
TEST(Expiry, ALateTimeCountsForItsOwnGeneration) {
  Expiry expiry(rule());
  ASSERT_TRUE(expiry.start_restore(8, "").ok());
  expiry.added(8, 1 * kHour);
  expiry.added(12, 2 * kHour);
  expiry.known_late(5, 50 * kHour);
  expiry.known_late(100, 50 * kHour);
  expiry.finish_restore();
  for (int i = 0; i < 3; ++i) expiry.observe(30 * kHour);
  EXPECT_EQ(expiry.lowest_live(), 12u);
}

// Against the definition, with evictions and restarts at any moment.
TEST(Expiry, IsWhatItsDefinitionSays) {
  const uint64_t first_seed = std::random_device()();
  for (uint64_t seed = first_seed; seed < first_seed + 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    Rule r = rule();
    r.generation = 1 + random() % 6;
    r.watermark_rank = 1 + random() % 3;
    const uint64_t room = random() % 2 == 0 ? 0 : 1 + random() % 20;
    const uint64_t timeless = 1 + random() % 4;
    auto expiry = std::make_unique<Expiry>(r);
    std::vector<int64_t> all, trusted;
    Seq lowest = 0;
    for (int step = 0; step < 200; ++step) {
      if (random() % 10 == 0) {
        const std::string state = expiry->state();
        expiry = std::make_unique<Expiry>(r);
        if (random() % 2 == 0) {  // a snapshot: everything is known at once
          ASSERT_TRUE(expiry->start_restore(lowest, state).ok());
          for (Seq seq = lowest; seq < trusted.size(); ++seq) expiry->added(seq, trusted[seq]);
        } else {  // a log: the end is known at the end, and some times come late
          const Seq first = random() % (lowest + 1);
          ASSERT_TRUE(expiry->start_restore(first, {}).ok());
          std::vector<Seq> late;
          for (Seq seq = first; seq < trusted.size(); ++seq) {
            if (random() % 3 == 0) late.push_back(seq);
            expiry->added(seq, !late.empty() && late.back() == seq ? kNoTime : trusted[seq]);
          }
          for (const Seq seq : late) expiry->known_late(seq, trusted[seq]);
          ASSERT_TRUE(expiry->start_restore(lowest, state).ok());
        }
        expiry->finish_restore();
      }
      const int64_t time =
          random() % timeless != 0 ? kNoTime : static_cast<int64_t>(step + random() % 9) * kHour;
      if (time != kNoTime) all.push_back(time);
      std::sort(all.rbegin(), all.rend());
      const int64_t watermark = all.size() < r.watermark_rank ? kNoTime : all[r.watermark_rank - 1];
      std::vector<int64_t> youngest;  // by generation
      for (Seq seq = 0; seq < trusted.size(); ++seq) {
        youngest.resize(seq / r.generation + 1, kNoTime);
        youngest.back() = std::max(youngest.back(), trusted[seq]);
      }
      for (size_t g = 0; g + 1 < youngest.size() && watermark != kNoTime; ++g) {
        if (youngest[g] == kNoTime || (g + 1) * r.generation <= lowest) continue;
        if (youngest[g] >= watermark - r.expire_after_ms) break;
        lowest = (g + 1) * r.generation;
      }
      ASSERT_EQ(expiry->observe(time), lowest) << "step " << step;
      const int64_t counts = time == kNoTime || watermark == kNoTime ? kNoTime : std::min(time, watermark);
      ASSERT_EQ(expiry->trusted(time), counts);
      if (random() % 3 == 0) continue;  // a duplicate
      const Seq seq = trusted.size();
      if (room != 0 && seq >= room) {
        lowest = std::max(lowest, seq + 1 - room);
        expiry->evict_below(seq + 1 - room);
      }
      expiry->added(seq, counts);
      trusted.push_back(counts);
      ASSERT_EQ(expiry->lowest_live(), lowest);
    }
  }
}

TEST(Expiry, RefusesADamagedState) {
  Expiry expiry(rule());
  expiry.observe(5);
  EXPECT_FALSE(Expiry(rule()).start_restore(0, expiry.state().substr(1)).ok());
  EXPECT_FALSE(Expiry(rule()).start_restore(0, expiry.state() + "x").ok());
}

TEST(Expiry, SaysWhatHadExpiredByItself) {
  Expiry expiry(rule());
  Seq next = 0;
  EXPECT_FALSE(expiry.too_old(-kHour));
  for (int hour = 0; hour < 40; ++hour) take(expiry, next, hour * kHour);
  EXPECT_TRUE(expiry.too_old(20 * kHour));
  EXPECT_FALSE(expiry.too_old(37 * kHour));
}

TEST(Expiry, NeverWithoutAnAge) {
  Rule never = rule();
  never.expire_after_ms = 0;
  Expiry expiry(never);
  Seq next = 0;
  for (int hour = 0; hour < 100; ++hour) take(expiry, next, hour * kHour);
  EXPECT_EQ(expiry.lowest_live(), 0u);
  EXPECT_EQ(expiry.state(), "");
}

}  // namespace
}  // namespace doppel
