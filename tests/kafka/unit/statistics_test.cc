// What doppel reads from the library's statistics.
#include "kafka/statistics.h"

#include <gtest/gtest.h>

#include <string>

#include "kafka/visibility.h"

namespace doppel::kafka_test {
namespace {

using kafka::ConsumerStatistics;
using kafka::LatestStatistics;
using kafka::parse_statistics;

TEST(KafkaStatistics, AreReadFromTheLibrarysJson) {
  ConsumerStatistics s;
  ASSERT_TRUE(parse_statistics(
      R"({"rxmsgs":12,"rxmsg_bytes":3400,"cgrp":{"rebalance_cnt":2},
          "brokers":{"a:1/1":{"nodeid":1,"source":"learned","state":"DOWN","txerrs":1,"rxerrs":2,"req_timeouts":3,"disconnects":4,
                              "throttle":{"avg":1500}},
                     "b:1/1":{"nodeid":1,"source":"configured","state":"UP"},
                     "c:1/0":{"nodeid":0,"source":"learned","state":"UP","req_timeouts":2},
                     "d:1/2":{"nodeid":2,"source":"learned","state":"INIT","disconnects":-7},
                     "bootstrap":{"nodeid":-1,"source":"configured","state":"UP"},
                     "GroupCoordinator":{"nodeid":1,"source":"logical","state":"INIT","disconnects":1}},
          "topics":{"t":{"partitions":{
            "0":{"partition":0,"fetch_state":"active","fetchq_cnt":5,"fetchq_size":500,"next_offset":30,
                 "app_offset":25,"ls_offset":40,"hi_offset":41},
            "1":{"partition":1,"fetch_state":"offset-query","fetchq_size":7,"next_offset":-1001,"ls_offset":-1001},
            "2":{"partition":2,"fetch_state":"none"},
            "3":{"partition":3},
            "-1":{"partition":-1,"fetch_state":"active"}}},
            "empty":{}}})",
      s));
  ASSERT_EQ(s.partitions.size(), 2u);
  EXPECT_EQ(s.partitions[0].topic, "t");
  EXPECT_EQ(s.partitions[0].partition, 0);
  EXPECT_EQ(s.partitions[0].end, 40);
  EXPECT_EQ(s.partitions[0].fetched, 30);
  EXPECT_EQ(s.partitions[0].stable, 40);
  EXPECT_EQ(s.partitions[0].written, 41);
  EXPECT_EQ(s.partitions[0].queued, 5u);
  EXPECT_EQ(s.partitions[0].taken, -1);  // the library's app_offset counts markers, too
  EXPECT_TRUE(s.partitions[0].fetching);
  EXPECT_EQ(s.partitions[1].partition, 1);
  EXPECT_FALSE(s.partitions[1].fetching);
  EXPECT_LT(s.partitions[1].end, 0);
  EXPECT_EQ(s.queued_bytes(), 507u);
  ASSERT_EQ(s.brokers.size(), 3u);
  EXPECT_EQ(s.brokers[0].id, 1);
  EXPECT_TRUE(s.brokers[0].up);  // by one of its two connections
  EXPECT_DOUBLE_EQ(s.brokers[0].throttled_s, 1.5);
  EXPECT_EQ(s.brokers[1].id, 0);
  EXPECT_TRUE(s.brokers[1].up);
  EXPECT_DOUBLE_EQ(s.brokers[1].throttled_s, 0);
  EXPECT_EQ(s.brokers[2].id, 2);
  EXPECT_FALSE(s.brokers[2].up);
  EXPECT_EQ(s.disconnects, 5u);
  EXPECT_EQ(s.request_errors, 3u);
  EXPECT_EQ(s.request_timeouts, 5u);
  EXPECT_EQ(s.rebalances, 2u);
  EXPECT_EQ(s.received_records, 12u);
  EXPECT_EQ(s.received_bytes, 3400u);
}

TEST(KafkaStatistics, ABrokerThatIsUpStaysUpByItsOtherConnection) {
  ConsumerStatistics s;
  ASSERT_TRUE(parse_statistics(R"({"topics":{},"brokers":{
      "a:1/1":{"nodeid":1,"source":"learned","state":"UP"},"b:1/1":{"nodeid":1,"source":"configured","state":"DOWN"}}})",
                               s));
  ASSERT_EQ(s.brokers.size(), 1u);
  EXPECT_TRUE(s.brokers[0].up);
}

TEST(KafkaStatistics, WhatIsMalformedChangesNothing) {
  ConsumerStatistics s;
  s.received_records = 12;
  for (const char* json : {"{", "[]", "{}", R"({"topics":3,"rxmsgs":5})"}) {
    EXPECT_FALSE(parse_statistics(json, s)) << json;
    EXPECT_EQ(s.received_records, 12u) << json;
  }
  LatestStatistics latest;
  latest.take(R"({"topics":{},"rxmsgs":12})");
  latest.take("{");
  EXPECT_EQ(latest.get().received_records, 12u);
  // Each part may be missing or of another type.
  ASSERT_TRUE(
      parse_statistics(R"({"topics":{"t":{"partitions":{"0":4}},"u":5},"brokers":{"b":6},"cgrp":7})", s));
  EXPECT_EQ(s.received_records, 0u);
  EXPECT_TRUE(s.partitions.empty());
  EXPECT_TRUE(s.brokers.empty());
}

TEST(KafkaStatistics, KnowWhatWasHandedOverAndWhereAPartitionEndsNow) {
  LatestStatistics latest;
  latest.handed_over("t", 1, 7);
  latest.handed_over("t", 1, 9);
  latest.take(R"({"topics":{"t":{"partitions":{
      "0":{"partition":0,"fetch_state":"active","next_offset":10,"app_offset":10,"ls_offset":10},
      "1":{"partition":1,"fetch_state":"active","next_offset":10,"app_offset":10,"ls_offset":10}}}}})");
  ConsumerStatistics s = latest.get();
  ASSERT_EQ(s.partitions.size(), 2u);
  EXPECT_EQ(s.partitions[0].taken, -1);
  EXPECT_EQ(s.partitions[1].taken, 9);

  // The newer one of the two ends counts.
  latest.ask_ends([](const std::string& topic, int32_t partition) {
    EXPECT_EQ(topic, "t");
    return partition == 0 ? int64_t{12} : int64_t{8};
  });
  s = latest.get();
  EXPECT_EQ(s.partitions[0].end, 12);
  EXPECT_EQ(s.partitions[1].end, 10);
  EXPECT_EQ(s.partitions[1].taken, 9);
}

// Records that are read, behind which others wait, tell of an open transaction if they stay the last ones.
TEST(KafkaStatistics, APartitionIsHeldUpAfterThirtySecondsAtOneOffset) {
  kafka::HeldUp held_up;
  ConsumerStatistics s;
  s.partitions.push_back({.topic = "t", .partition = 1, .stable = 40, .written = 45, .fetched = 40});
  const auto at = [&](int second) {
    const auto found = held_up.look(s, Clock::time_point(std::chrono::seconds(1'000 + second)));
    return found.size();
  };
  ConsumerStatistics::Partition& p = s.partitions[0];
  EXPECT_EQ(at(0), 0u);
  EXPECT_EQ(at(29), 0u);
  EXPECT_EQ(at(30), 1u);
  EXPECT_EQ(at(31), 0u);  // it was said
  EXPECT_EQ(at(629), 0u);
  EXPECT_EQ(at(630), 1u);
  p.stable = p.fetched = 42;  // the next transaction
  EXPECT_EQ(at(631), 0u);
  EXPECT_EQ(at(661), 1u);
  p.queued = 1;  // we are behind
  EXPECT_EQ(at(700), 0u);
  p.queued = 0;
  EXPECT_EQ(at(701), 0u);
  p.stable = p.fetched = p.written;  // it has ended
  EXPECT_EQ(at(740), 0u);
  p.stable = p.written = -1001;  // nothing was fetched yet
  EXPECT_EQ(at(800), 0u);
}

}  // namespace
}  // namespace doppel::kafka_test
