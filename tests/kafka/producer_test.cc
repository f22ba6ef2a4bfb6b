// How a transaction's records are divided into requests, and what a late commit means.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kafka/broker.h"
#include "kafka/client.h"
#include "kafka/cluster.h"
#include "kafka/librdkafka/connect.h"
#include "kafka/proxy.h"

namespace doppel::testing {
namespace {

// 100 records of 1,000 bytes for one partition, and 100 that are placed by their keys.
void fill(kafka::Outbox& outbox, const std::string& topic) {
  for (int i = 0; i < 100; ++i) {
    const std::string value = fmt::format("{:04}{}", i, std::string(996, 'x'));
    outbox.add(topic, std::nullopt, outbox.put(value)).partition = 0;
    outbox.add(topic, outbox.put(fmt::format("key {}", i)), outbox.put("by its key"));
  }
}

TEST(Producer, SendsOneRequestOfAPartitionAtATime) {
  const std::string bootstrap = Broker::shared().bootstrap(), topic = unique_name("requests");
  Client(bootstrap).create_topic(topic, 2);
  const std::unique_ptr<kafka::Cluster> cluster = kafka::connect({.brokers = bootstrap});
  auto producer = cluster->producer({.id = unique_name("transactions"), .batch_bytes_max = 20'000});
  ASSERT_TRUE(producer.ok()) << producer.status();
  ASSERT_TRUE((*producer)->init().ok());
  ASSERT_TRUE((*producer)->begin().ok());
  kafka::Outbox outbox;
  fill(outbox, topic);
  int requests = 0;
  for (size_t at = 0; at < outbox.messages().size(); ++requests) {
    const absl::StatusOr<size_t> next = (*producer)->produce(outbox, at);
    ASSERT_TRUE(next.ok()) << next.status();
    ASSERT_GT(*next, at);
    at = *next;
    const absl::Status flushed = (*producer)->flush();
    ASSERT_TRUE(flushed.ok()) << flushed;
  }
  EXPECT_EQ(requests, 6);  // of 18 records each and the rest
  ASSERT_TRUE((*producer)->commit().ok());
  int64_t before = -1;
  for (const kafka::Outbox::Message& m : outbox.messages()) {
    EXPECT_GE(m.offset, 0);
    if (m.partition != 0) continue;
    EXPECT_GT(m.offset, before);
    before = m.offset;
  }
  EXPECT_EQ(read_all(bootstrap, topic).size(), 200U);
}

// A commit that runs into its time limit is still being carried out. The caller repeats it, so that the
// transaction keeps its records instead of being sent again by a new producer.
TEST(Producer, ACommitThatTimesOutMayBeRepeated) {
  Proxy proxy(Broker::shared().port());
  const std::string topic = unique_name("late-commit");
  Client(Broker::shared().bootstrap()).create_topic(topic, 1);
  const std::unique_ptr<kafka::Cluster> cluster = kafka::connect({.brokers = proxy.bootstrap()});
  auto producer = cluster->producer({.id = unique_name("transactions")});
  ASSERT_TRUE(producer.ok()) << producer.status();
  ASSERT_TRUE((*producer)->init().ok());
  ASSERT_TRUE((*producer)->begin().ok());
  kafka::Outbox outbox;
  outbox.add(topic, std::nullopt, outbox.put("a record")).partition = 0;
  ASSERT_TRUE((*producer)->produce(outbox, 0).ok());
  ASSERT_TRUE((*producer)->flush().ok());

  proxy.set_down(true);
  proxy.cut_before(Api::end_txn);  // and no new connection until the proxy is up
  const absl::Status late = (*producer)->commit();
  EXPECT_TRUE(absl::IsUnavailable(late)) << late;
  proxy.set_down(false);
  const absl::Status repeated = (*producer)->commit();
  EXPECT_TRUE(repeated.ok()) << repeated;
  EXPECT_EQ(read_all(Broker::shared().bootstrap(), topic).size(), 1U);
}

}  // namespace
}  // namespace doppel::testing
