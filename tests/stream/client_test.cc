// The settings of our Kafka clients.

#include "stream/kafka/librdkafka/client.h"

#include <gtest/gtest.h>

#include <array>

namespace doppel::testing {
namespace {

std::string retry_backoff(const kafka::ClientOptions& options) {
  const absl::StatusOr<kafka::Client> client = kafka::make_producer(options, {});
  EXPECT_TRUE(client.ok()) << client.status();
  if (!client.ok()) return {};
  std::array<char, 64> value{};
  size_t size = value.size();
  EXPECT_EQ(rd_kafka_conf_get(rd_kafka_conf(client->get()), "retry.backoff.ms", value.data(), &size),
            RD_KAFKA_CONF_OK);
  return value.data();
}

// Else each transaction that begins before the marks of the last one are written waits for 100 ms.
TEST(Client, AProducerAsksAgainSoonUnlessTheUserSaysOtherwise) {
  EXPECT_EQ(retry_backoff({.brokers = "127.0.0.1:1"}), "10");
  EXPECT_EQ(retry_backoff({.brokers = "127.0.0.1:1", .properties = {{"retry.backoff.ms", "300"}}}), "300");
}

}  // namespace
}  // namespace doppel::testing
