#include "kafka/pace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <utility>

namespace doppel::kafka {
namespace {

using std::chrono::milliseconds;

class PaceTest : public ::testing::Test {
 protected:
  // Settles a batch of the largest size, at this many documents per second; 0: no quota.
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

// Computes the delay of a request like a broker: from the records of the last ten to eleven seconds. So it
// delays nothing until ten seconds' worth has passed, and then each request by the whole excess.
class BrokerQuota {
 public:
  explicit BrokerQuota(double rate) : rate_(rate) {}

  // Returns until when the connection stands still.
  double request(double records, double now) {
    while (!samples_.empty() && samples_.front().first + 11 <= now) samples_.pop_front();
    if (samples_.empty() || samples_.back().first + 1 <= now) samples_.emplace_back(now, 0);
    samples_.back().second += records;
    double sum = 0;
    for (const auto& [begin, passed] : samples_) sum += passed;
    const double elapsed = now - samples_.front().first;
    const double window = elapsed + std::max(0., 10 - std::floor(elapsed));
    return now + std::clamp(sum / rate_ - window, 0., 10.);
  }

 private:
  const double rate_;
  std::deque<std::pair<double, double>> samples_;  // begin of a second, and the records in it
};

TEST_F(PaceTest, AQuotaThatDelaysOnlyAfterABurstIsMetToo) {
  constexpr int kRequests = 5;  // of a transaction
  for (const auto& [rate, time_out] : {std::pair{20., 20},
                                       {35., 20},
                                       {50., 20},
                                       {65., 20},
                                       {80., 20},
                                       {100., 20},
                                       {150., 20},
                                       {400., 20},
                                       {900., 20},
                                       {35., 60},
                                       {150., 60},
                                       {900., 60}}) {
    Pace begins(4'000, 8 << 20, milliseconds(time_out * 1'000 / 8));
    BrokerQuota quota(rate);
    std::deque<size_t> ahead;  // batches that were read ahead
    double at = 0;
    for (int i = 0; i < 80; ++i) {
      while (ahead.size() < 3) ahead.push_back(begins.records());
      const size_t records = ahead.front();
      ahead.pop_front();
      const double begun = at;
      for (int r = 0; r < kRequests; ++r) at = quota.request(static_cast<double>(records) / kRequests, at);
      const auto delay = milliseconds(static_cast<int64_t>(1e3 * (at - begun)));
      EXPECT_LE(delay, milliseconds(time_out * 800)) << rate << " a second, batch " << i << " of " << records;
      at += .03;
      begins.settled(records, 0, delay + milliseconds(30), delay,
                     now + milliseconds(static_cast<int64_t>(1e3 * at)));
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

// Slow transactions without a quota (a broker that was away), and small batches, tell nothing.
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
