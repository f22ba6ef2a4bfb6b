#include "kafka/pace.h"

#include <gtest/gtest.h>

namespace doppel::kafka {
namespace {

using std::chrono::milliseconds;

class PaceTest : public ::testing::Test {
 protected:
  // As large as it may be, at so many documents a second; 0: no quota.
  void settle(double rate) {
    const size_t records = pace.records();
    most = std::max(most, records);
    if (rate == 0) return pace.settled(records, 0, milliseconds(10), {}, now += milliseconds(10));
    const milliseconds took(static_cast<int64_t>(1e3 * static_cast<double>(records) / rate));
    longest = std::max(longest, took);
    pace.settled(records, 0, milliseconds(10), took, now += took);
  }

  Clock::time_point now = Clock::now();
  Pace pace{4'000, 8 << 20, milliseconds(4'000)};
  size_t most = 0;
  milliseconds longest{};
};

TEST_F(PaceTest, BeginsSmallAndGrowsToTheWholeBatch) {
  EXPECT_EQ(pace.records(), 64U);
  EXPECT_EQ(pace.bytes(), 134'217U);
  for (int i = 0; i < 7; ++i) settle(0);
  EXPECT_EQ(pace.records(), 4'000U);
  EXPECT_EQ(pace.bytes(), 8U << 20);
  settle(0);
  EXPECT_EQ(pace.records(), 4'000U);
}

TEST_F(PaceTest, ATransactionEndsInTimeUnderAQuota) {
  for (int i = 0; i < 50; ++i) settle(25);
  EXPECT_LE(most, 128U);
  EXPECT_LE(longest, milliseconds(5'000));
  EXPECT_GE(pace.records(), 50U) << "it need not be slower than that";
}

// A broker delays nothing until ten seconds' worth has passed. Then it delays the whole excess.
TEST_F(PaceTest, AQuotaThatDelaysOnlyAfterABurstIsMetToo) {
  for (const double rate : {20., 65., 100., 150., 400., 900.}) {
    Pace begins(4'000, 8 << 20, milliseconds(1'250));
    double sent = 0, due = 0;  // due: when the broker takes the next batch
    for (int i = 0; i < 60; ++i) {
      const auto records = static_cast<double>(begins.records());
      sent += records;
      const double before = due;
      due = std::max(due + .01, sent / rate - 10);
      const auto delay = milliseconds(static_cast<int64_t>(1e3 * std::max(0., due - before - .01)));
      EXPECT_LE(delay, milliseconds(6'000)) << rate << " a second, batch " << i << " of " << records;
      begins.settled(static_cast<size_t>(records), 0, milliseconds(10) + delay, delay,
                     now + milliseconds(static_cast<int64_t>(1e3 * due)));
    }
    EXPECT_GE(static_cast<double>(begins.records()), std::min(1'000., rate / 2)) << rate;
  }
}

TEST_F(PaceTest, AQuotaThatComesLaterIsMetSoon) {
  for (int i = 0; i < 7; ++i) settle(0);
  int slow = 0;
  for (int i = 0; i < 20; ++i) {
    longest = {};
    settle(25);
    slow += longest > milliseconds(5'000) ? 1 : 0;
  }
  EXPECT_LE(slow, 2);
  for (int i = 0; i < 10; ++i) settle(0);
  EXPECT_EQ(pace.records(), 4'000U) << "when it is gone, all is as before";
}

TEST_F(PaceTest, OneDocumentMayAlwaysCome) {
  for (int i = 0; i < 50; ++i) settle(.01);
  EXPECT_EQ(pace.records(), 1U);
}

TEST_F(PaceTest, LargeDocumentsCountByTheirBytes) {
  pace.settled(1, 64 << 10, milliseconds(10), milliseconds(8'000), now);
  EXPECT_LT(pace.bytes(), 64U << 10);
}

// What took long without a quota (a broker that was away), and small batches, say nothing.
TEST_F(PaceTest, WhatSaysNothingChangesNothing) {
  pace.settled(64, 0, milliseconds(60'000), {}, now);
  EXPECT_EQ(pace.records(), 102U);
  pace.settled(1, 10, milliseconds(10), {}, now);
  EXPECT_EQ(pace.records(), 102U);
  pace.settled(0, 0, milliseconds(60'000), milliseconds(60'000), now);
  EXPECT_EQ(pace.records(), 102U);
}

}  // namespace
}  // namespace doppel::kafka
