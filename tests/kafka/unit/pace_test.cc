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
    if (rate == 0) return pace.settled(records, 0, milliseconds(10), {});
    const milliseconds took(static_cast<int64_t>(1e3 * static_cast<double>(records) / rate));
    longest = std::max(longest, took);
    pace.settled(records, 0, milliseconds(10), took);
  }

  Pace pace{4'000, 8 << 20, milliseconds(4'000)};
  size_t most = 0;
  milliseconds longest{};
};

TEST_F(PaceTest, BeginsSmallAndGrowsToTheWholeBatch) {
  EXPECT_EQ(pace.records(), 64U);
  EXPECT_EQ(pace.bytes(), 134'217U);
  for (int i = 0; i < 6; ++i) settle(0);
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
  pace.settled(1, 64 << 10, milliseconds(10), milliseconds(8'000));
  EXPECT_LT(pace.bytes(), 64U << 10);
}

// What took long without a quota (a broker that was away), and small batches, say nothing.
TEST_F(PaceTest, WhatSaysNothingChangesNothing) {
  pace.settled(64, 0, milliseconds(60'000), {});
  EXPECT_EQ(pace.records(), 128U);
  pace.settled(1, 10, milliseconds(10), {});
  EXPECT_EQ(pace.records(), 128U);
  pace.settled(0, 0, milliseconds(60'000), milliseconds(60'000));
  EXPECT_EQ(pace.records(), 128U);
}

}  // namespace
}  // namespace doppel::kafka
