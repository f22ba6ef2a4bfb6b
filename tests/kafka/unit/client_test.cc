// The settings of our Kafka clients.

#include "kafka/librdkafka/client.h"

#include <gmock/gmock.h>
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

// What a new leader says of the log that was read (KIP-320).
TEST(Client, AnotherLogAtANewLeaderIsSaidInWords) {
  const absl::Status truncated = kafka::error("t/0", static_cast<rd_kafka_resp_err_t>(-139), "no message");
  EXPECT_TRUE(absl::IsOutOfRange(truncated)) << truncated;
  EXPECT_THAT(std::string(truncated.message()), ::testing::HasSubstr("the brokers have lost records of it"));
  for (const rd_kafka_resp_err_t code :
       {RD_KAFKA_RESP_ERR_FENCED_LEADER_EPOCH, RD_KAFKA_RESP_ERR_UNKNOWN_LEADER_EPOCH}) {
    const absl::Status election = kafka::error("t/0", code);
    EXPECT_TRUE(absl::IsUnavailable(election)) << election;
    EXPECT_THAT(std::string(election.message()), ::testing::HasSubstr("this passes with the election"));
  }
}

}  // namespace
}  // namespace doppel::testing
