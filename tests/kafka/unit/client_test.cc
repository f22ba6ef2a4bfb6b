// The settings of our Kafka clients.

#include "kafka/librdkafka/client.h"

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

// Otherwise each transaction that begins before the markers of the last one are written waits for 100 ms.
TEST(Client, AProducerAsksAgainSoonUnlessTheUserSaysOtherwise) {
  EXPECT_EQ(retry_backoff({.brokers = "127.0.0.1:1"}), "10");
  EXPECT_EQ(retry_backoff({.brokers = "127.0.0.1:1", .properties = {{"retry.backoff.ms", "300"}}}), "300");
}

// The messages of a process that was stopped for longer than a transaction may take time out: another
// producer sends them again.
TEST(Client, WhatTimedOutMayPass) {
  for (const rd_kafka_resp_err_t code : {RD_KAFKA_RESP_ERR__MSG_TIMED_OUT, RD_KAFKA_RESP_ERR__TIMED_OUT})
    EXPECT_TRUE(absl::IsUnavailable(kafka::error("cannot produce", code))) << rd_kafka_err2name(code);
}

}  // namespace
}  // namespace doppel::testing
