#include "kafka/visibility.h"

#include "kafka/librdkafka/connect.h"

#include <gtest/gtest.h>

#include "kafka/broker.h"
#include "kafka/transactions.h"

namespace doppel::testing {
namespace {

using kafka::TopicPartition;
using kafka::Visibility;

class Visible : public ::testing::Test {
 protected:
  Visible() {
    for (const std::string& t : {topic, other}) client.create_topic(t, 2);
    one.begin();
  }
  Visibility visibility() { return Visibility(*cluster); }
  std::vector<TopicPartition> hanging(int patience_ms = 50) {
    return visibility().hanging({topic, other}, std::chrono::milliseconds(patience_ms)).value();
  }
  void put(int32_t partition) {
    Message m;
    m.value = "x";
    m.partition = partition;
    one.produce(topic, m);
  }

  Broker& broker = Broker::shared();
  Client client{broker.bootstrap()};
  std::unique_ptr<kafka::Cluster> cluster = kafka::connect({.brokers = broker.bootstrap()});
  const std::string topic = unique_name("visible"), other = unique_name("visible");
  Transactions one{broker.bootstrap(), unique_name("transactions")};
};

TEST_F(Visible, WhatIsOpenHangsAndWhatIsCommittedIsSeen) {
  EXPECT_TRUE(hanging().empty());
  put(1);
  put(1);
  const auto open = hanging();
  ASSERT_EQ(open.size(), 1U);
  EXPECT_EQ(open[0].topic, topic);
  EXPECT_EQ(open[0].partition, 1);
  EXPECT_EQ(*visibility().seen_to(open[0]), 0);
  EXPECT_EQ(*visibility().stored_to(open[0]), 2);
  EXPECT_FALSE(*visibility().sees(open[0], {0, 1}));
  EXPECT_EQ(one.commit(), "");
  EXPECT_TRUE(hanging(10'000).empty());
  EXPECT_TRUE(*visibility().sees(open[0], {0, 1}));
  EXPECT_TRUE(*visibility().sees(open[0], {1}));
}

TEST_F(Visible, WhatWasAbortedIsNotSeenThoughOthersAre) {
  Message m;
  m.value = "of somebody else";
  m.partition = 0;
  put(0);                    // 0
  client.produce(topic, m);  // 1
  put(0);                    // 2
  one.abort();
  EXPECT_TRUE(hanging(10'000).empty());
  EXPECT_FALSE(*visibility().sees({topic, 0}, {0, 2}));
  EXPECT_TRUE(*visibility().sees({topic, 0}, {1}));
}

// To a reader, a compacted record looks like an aborted one. A later record with the same key shows the
// difference.
TEST_F(Visible, WhatALaterRecordUnderItsKeyReplacedWasSeen) {
  Message m;
  m.key = "progress";
  m.value = "1";
  m.partition = 0;
  one.produce(topic, m);  // 0
  one.abort();
  EXPECT_TRUE(hanging(10'000).empty());
  m.value = "2";
  client.produce(topic, m);
  EXPECT_FALSE(*visibility().sees({topic, 0}, {0}));
  EXPECT_FALSE(*visibility().sees({topic, 0}, {0}, {{"another", 0}}));
  EXPECT_TRUE(*visibility().sees({topic, 0}, {0}, {{"progress", 0}}));
}

TEST_F(Visible, WhatWasDeletedWasSeen) {
  put(0);
  put(0);
  EXPECT_EQ(one.commit(), "");
  EXPECT_TRUE(hanging(10'000).empty());
  client.delete_records(topic, 0, 1);
  EXPECT_TRUE(*visibility().sees({topic, 0}, {0}));
}

TEST_F(Visible, ATopicThatIsNotThereIsAskedForAgain) {
  const auto unknown = visibility().hanging({topic, "nobody-made-this"}, std::chrono::milliseconds(0));
  EXPECT_TRUE(absl::IsUnavailable(unknown.status()));
  EXPECT_NE(unknown.status().message().find("nobody-made-this"), std::string::npos);
  one.abort();
}

}  // namespace
}  // namespace doppel::testing
