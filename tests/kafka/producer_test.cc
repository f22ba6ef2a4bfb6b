// How a transaction's records are divided into requests.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kafka/broker.h"
#include "kafka/client.h"
#include "kafka/cluster.h"
#include "kafka/librdkafka/connect.h"

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

}  // namespace
}  // namespace doppel::testing
