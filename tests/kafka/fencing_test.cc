// The errors of a producer that another one has fenced.

#include <gtest/gtest.h>

#include "kafka/broker.h"
#include "kafka/client.h"
#include "kafka/cluster.h"
#include "kafka/librdkafka/connect.h"

namespace doppel::testing {
namespace {

// The producer's records are purged: the reason is the fence, not the purge.
TEST(Fencing, IsTheReasonWhyRecordsArePurged) {
  const std::string bootstrap = Broker::shared().bootstrap(), topic = unique_name("fencing");
  Client(bootstrap).create_topic(topic);
  const std::unique_ptr<kafka::Cluster> cluster = kafka::connect({.brokers = bootstrap});
  const kafka::TransactionalOptions options{.id = unique_name("transactions")};
  const auto first = cluster->producer(options), second = cluster->producer(options);
  ASSERT_TRUE(first.ok() && second.ok());
  ASSERT_TRUE((*first)->init().ok());
  ASSERT_TRUE((*second)->init().ok());
  ASSERT_TRUE((*first)->begin().ok());
  kafka::Outbox outbox;
  outbox.add(topic, std::nullopt, outbox.put("value")).partition = 0;
  absl::Status status = (*first)->produce(outbox, 0).status();
  if (status.ok()) status = (*first)->flush();
  EXPECT_TRUE(absl::IsAborted(status)) << status;
  EXPECT_TRUE(absl::IsAborted((*first)->produce(outbox, 0).status())) << "whatever is called later";
}

}  // namespace
}  // namespace doppel::testing
