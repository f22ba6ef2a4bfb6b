#include "engine/expiry.h"

#include <gtest/gtest.h>

#include <algorithm>
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
  ASSERT_TRUE(restored.restore(whole.state()).ok());
  restored.restore_lowest_live(whole.lowest_live());
  for (Seq i = whole.lowest_live(); i < next; ++i) restored.added(i, trusted[i]);
  for (; next < 100; ++next) EXPECT_EQ(step(whole, next), step(restored, next)) << next;
  EXPECT_GT(whole.lowest_live(), 50u);
}

TEST(Expiry, RefusesADamagedState) {
  Expiry expiry(rule());
  expiry.observe(5);
  EXPECT_FALSE(Expiry(rule()).restore(expiry.state().substr(1)).ok());
  EXPECT_FALSE(Expiry(rule()).restore(expiry.state() + "x").ok());
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
