// A daemon without documents: its snapshot stays usable, and it writes nothing for that.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "kafka/case.h"
#include "kafka/cluster.h"
#include "kafka/librdkafka/connect.h"
#include "kafka/transactions.h"

namespace doppel::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A snapshot is usable for half of the log's delete.retention.ms after the time that it covers.
TEST(Idle, ASnapshotStaysUsableWithoutDocuments) {
  Case c;
  const std::string& log = c.setup.options().kafka.index_log;
  c.client.create_topic(
      log, 1,
      {{"cleanup.policy", "compact"}, {"max.message.bytes", "80000000"}, {"delete.retention.ms", "8000"}});
  c.produce_next(200);
  const auto first = c.start();
  EXPECT_THAT(first->said(), HasSubstr("the index log drops removals too early"));
  c.await_all(*first);
  Case::stop(*first);

  // The claim is in the log, after everything that the snapshot covers.
  const auto daemon = c.start();
  const auto cluster = kafka::connect({.brokers = c.setup.bootstrap()});
  const auto end = [&] { return cluster->watermarks({log, 0}, kafka::Isolation::uncommitted)->high; };
  const int64_t before = end();
  EXPECT_FALSE(daemon->await_exit(Daemon::Seconds(6)));  // more than four seconds
  EXPECT_EQ(end(), before);
  daemon->kill();
  daemon->await_exit();
  const auto again = c.start();
  EXPECT_THAT(again->said(), Not(HasSubstr("set aside")));
  c.finish(*again);
}

// The record with the epoch is at the end of a rebuild. Once a start has found it, its place is known.
TEST(Idle, OnlyTheFirstStartAfterARebuildLooksForItsEpoch) {
  Case c(IndexSetup::Settings{{"log.level", "debug"}, {"kafka.batch_documents", "10"}});
  c.produce_next(400);
  c.setup.set({{"kafka.index_log", "~-index-2"}});
  const Ran made = c.setup.run("rebuild --from documents");
  ASSERT_EQ(made.code, 0) << made.err;
  const std::string what = "found in the log which index it holds records_read=";
  const auto read = [&](Daemon& daemon) {
    const std::string said = daemon.said();
    const size_t at = said.find(what);
    return at == std::string::npos ? -1 : std::stoi(said.substr(at + what.size()));
  };
  const auto first = c.start();
  EXPECT_GT(read(*first), 200) << first->said();
  Case::stop(*first);
  const auto second = c.start();
  EXPECT_EQ(read(*second), 1) << second->said();
  Case::stop(*second);
}

// Lag tools count the marker after the last record of a transaction, too.
TEST(Idle, TheGroupMovesBehindTheMarkersOfTransactions) {
  Case c(IndexSetup::Settings{}, Broker::shared().bootstrap(), 10);
  Transactions producer(c.setup.bootstrap(), unique_name("writer"));
  producer.begin();
  for (Message& m : c.messages) {
    m.partition = 0;
    producer.produce(c.setup.input(), m);
  }
  ASSERT_EQ(producer.commit(), "");
  auto daemon = c.start();
  const auto cluster = kafka::connect({.brokers = c.setup.bootstrap()});
  const kafka::TopicPartition place{c.setup.input(), 0};
  const int64_t end = static_cast<int64_t>(c.messages.size()) + 1;
  EXPECT_EQ(cluster->watermarks(place, kafka::Isolation::committed)->high, end);
  const auto group = [&] { return c.client.group_offset(c.setup.options().kafka.group, place.topic, 0); };
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (group() != end && std::chrono::steady_clock::now() < deadline) {
  }
  EXPECT_EQ(group(), end) << daemon->said();
  Case::stop(*daemon);
  daemon = c.start();
  EXPECT_THAT(daemon->said(), Not(HasSubstr("differs from the index log")));
  Case::stop(*daemon);
}

TEST(Idle, ANewLogKeepsRemovalsForAWeek) {
  Case c;
  const auto daemon = c.start();
  EXPECT_THAT(daemon->said(), Not(HasSubstr("drops removals")));
  EXPECT_EQ(c.client.topic_configs(c.setup.options().kafka.index_log)["delete.retention.ms"], "604800000");
  Case::stop(*daemon);
}

}  // namespace
}  // namespace doppel::testing
