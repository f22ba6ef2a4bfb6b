// The support for the other tests, against the real broker, because those tests rely on it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <future>

#include "kafka/broker.h"
#include "kafka/client.h"
#include "kafka/daemon.h"
#include "kafka/proxy.h"
#include "kafka/transactions.h"

namespace doppel::testing {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> values(const std::vector<Message>& messages) {
  std::vector<std::string> out;
  for (const Message& m : messages) out.push_back(m.value.value_or("(null)"));
  return out;
}

TEST(Support, WhatIsProducedIsRead) {
  Broker& broker = Broker::shared();
  Client client(broker.bootstrap());
  const std::string topic = unique_name("plain");
  client.create_topic(topic, 2, {{"retention.ms", "-1"}, {"max.message.bytes", "3000000"}});
  EXPECT_EQ(client.partitions(topic), 2);
  EXPECT_EQ(client.topic_configs(topic)["max.message.bytes"], "3000000");
  std::vector<Message> messages(3);
  messages[0].key = "a";
  messages[0].value = std::string("x\0y", 3);
  messages[0].headers = {{"h", "1"}, {"null", std::nullopt}};
  messages[0].timestamp_ms = 1'700'000'000'123;
  messages[1].key = "b";  // a null value
  messages[1].partition = 1;
  messages[2].value = std::string(2'500'000, 'z');
  client.produce(topic, messages);
  Reader reader(broker.bootstrap(), topic);
  std::vector<Message> read = reader.read_to_end();
  std::sort(read.begin(), read.end(), [](auto& a, auto& b) {
    return std::tie(a.partition, a.offset) < std::tie(b.partition, b.offset);
  });
  ASSERT_EQ(read.size(), 3U);
  EXPECT_EQ(read[0].value, messages[0].value);
  EXPECT_EQ(read[0].key, "a");
  EXPECT_EQ(read[0].headers, messages[0].headers);
  EXPECT_EQ(read[0].header("h"), "1");
  EXPECT_EQ(read[0].timestamp_ms, 1'700'000'000'123);
  EXPECT_EQ(read[1].value, messages[2].value);
  EXPECT_EQ(read[1].key, std::nullopt);
  EXPECT_EQ(read[1].offset, 1);
  EXPECT_EQ(read[2].value, std::nullopt);
  EXPECT_EQ(read[2].partition, 1);
  client.produce(topic, messages[0]);
  EXPECT_EQ(reader.read(1).at(0).offset, 2);
  EXPECT_TRUE(reader.read_to_end().empty());
}

TEST(Support, OnlyWhatIsCommittedIsRead) {
  Broker& broker = Broker::shared();
  Client client(broker.bootstrap());
  const std::string topic = unique_name("transactions");
  client.create_topic(topic);
  Transactions t(broker.bootstrap(), topic);
  t.begin();
  t.produce(topic, "aborted");
  t.abort();
  t.begin();
  t.produce(topic, "committed");
  EXPECT_EQ(t.commit(), "");
  t.begin();
  t.produce(topic, "open");
  const auto now = [&] { return Reader(broker.bootstrap(), topic).read_to_end(std::chrono::seconds(0)); };
  EXPECT_THAT(values(now()), ElementsAre("committed"));
  const Transactions successor(broker.bootstrap(), topic);
  EXPECT_NE(t.commit(), "");
  EXPECT_THAT(values(read_all(broker.bootstrap(), topic)), ElementsAre("committed"));
}

// A broker acknowledges a commit before all partitions know of it.
TEST(Support, WhatIsWrittenAndNotDecidedIsAwaited) {
  Broker& broker = Broker::shared();
  Client client(broker.bootstrap());
  const std::string topic = unique_name("undecided"), other = unique_name("other");
  client.create_topic(topic);
  client.create_topic(other);
  Transactions t(broker.bootstrap(), topic);
  t.begin();
  t.produce(topic, "committed later");
  auto read = std::async(std::launch::async, [&] {
    return Reader(broker.bootstrap(), topic).read_to_end(std::chrono::seconds(60));
  });
  for (int i = 0; i < 100; ++i) client.produce(other, Message());
  EXPECT_EQ(t.commit(), "");
  EXPECT_THAT(values(read.get()), ElementsAre("committed later"));
}

TEST(Support, RecordsTopicsAndGroupOffsetsAreChanged) {
  Broker& broker = Broker::shared();
  Client client(broker.bootstrap());
  const std::string topic = unique_name("admin");
  client.create_topic(topic);
  std::vector<Message> messages(5);
  for (size_t i = 0; i < messages.size(); ++i) messages[i].value = std::to_string(i);
  client.produce(topic, messages);
  client.delete_records(topic, 0, 3);
  EXPECT_THAT(values(read_all(broker.bootstrap(), topic)), ElementsAre("3", "4"));
  client.set_group_offset(topic, topic, 0, 4);
  EXPECT_EQ(client.group_offset(topic, topic, 0), 4);
  client.add_partitions(topic, 3);
  EXPECT_EQ(client.partitions(topic), 3);
  EXPECT_EQ(client.leader(topic, 2), 1);
  client.delete_topic(topic);
  EXPECT_FALSE(client.topic_exists(topic));
}

// Assigns partitions and never subscribes: the group has no members, and its offsets still move with the
// transaction.
TEST(Support, OffsetsOfAGroupWithoutMembersAreSentInATransaction) {
  Broker& broker = Broker::shared();
  Client client(broker.bootstrap());
  const std::string topic = unique_name("offsets");
  client.create_topic(topic);
  Transactions t(broker.bootstrap(), topic);
  t.set_bootstrap_of_group(broker.bootstrap());
  t.begin();
  t.produce(topic, "x");
  t.send_offset(topic, topic, 7);
  EXPECT_EQ(t.commit(), "");
  EXPECT_EQ(client.group_offset(topic, topic, 0), 7);
}

TEST(Support, AProxyHandsEverythingOn) {
  Proxy proxy(Broker::shared().port());
  Client client(proxy.bootstrap());
  const std::string topic = unique_name("proxied");
  client.create_topic(topic);
  Message m;
  m.value = std::string(300'000, 'q');
  client.produce(topic, m);
  EXPECT_EQ(read_all(proxy.bootstrap(), topic).at(0).value, m.value);
  EXPECT_GE(proxy.seen(Api::produce), 1);
}

TEST(Support, AConnectionIsCutBeforeOrAfterTheEndOfATransaction) {
  Broker& broker = Broker::shared();
  Client client(broker.bootstrap());
  for (const bool after : {false, true}) {
    const std::string topic = unique_name("cut");
    client.create_topic(topic);
    Proxy proxy(broker.port());
    proxy.stay_down_after_cut(true);
    Transactions t(proxy.bootstrap(), topic);
    t.begin();
    t.produce(topic, "x");
    if (after) {
      proxy.cut_after(Api::end_txn);
    } else {
      proxy.cut_before(Api::end_txn);
    }
    EXPECT_EQ(t.commit(1'000), "_TIMED_OUT");
    EXPECT_TRUE(proxy.await());
    Reader reader(broker.bootstrap(), topic);
    if (after) {
      EXPECT_EQ(reader.read(1).size(), 1U);
    } else {
      EXPECT_EQ(reader.read_to_end().size(), 0U);
    }
    proxy.set_down(false);
    EXPECT_EQ(t.commit(), "") << "the same commit again is told the truth";
    EXPECT_EQ(reader.read(after ? 0 : 1).size(), after ? 0U : 1U);
    EXPECT_EQ(reader.read_to_end().size(), 0U);
  }
}

TEST(Support, ADaemonIsWatchedAndEnded) {
  Daemon refused({"no-such-command"});
  ASSERT_TRUE(refused.await_exit().has_value());
  EXPECT_EQ(refused.await_exit(), 2) << refused.said();
  EXPECT_FALSE(refused.await_line("never said"));

  Daemon waits({"scan", "-"},
               {{"DOPPEL_HASH_KEY", std::string(32, '0')}});  // stdin is empty: it ends by itself
  EXPECT_EQ(waits.await_exit(), 0) << waits.said();
}

TEST(SupportLong, ABrokerThatWasKilledKeepsWhatItAcknowledged) {
  const auto broker = Broker::own();
  Client client(broker->bootstrap());
  client.create_topic("t");
  Message m;
  m.value = "before";
  client.produce("t", m);
  broker->kill();
  broker->restart();
  m.value = "after";
  client.produce("t", m);
  EXPECT_THAT(values(read_all(broker->bootstrap(), "t")), ElementsAre("before", "after"));
}

}  // namespace
}  // namespace doppel::testing
