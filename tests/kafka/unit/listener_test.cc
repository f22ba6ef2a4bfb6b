// Addresses of brokers, and what listens there.
#include "kafka/librdkafka/connect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "kafka/unit/answering_server.h"

namespace doppel::kafka {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Listener, AddressesAreHostAndPort) {
  EXPECT_THAT(*split_brokers("a, b:1,[::1]:2,,SASL_SSL://c:3"),
              ElementsAre("a:9092", "b:1", "[::1]:2", "c:3"));
  for (const std::string wrong : {"kafka://a:1", "http://a:1/", "a:", "a:0", "a:65536", "a:x", ":1", "a:1/x",
                                  "::1", "[::1", "[::1]x"}) {
    const auto refused = split_brokers("b:1," + wrong);
    ASSERT_FALSE(refused.ok()) << wrong;
    EXPECT_THAT(std::string(refused.status().message()), HasSubstr("kafka.brokers: " + wrong + " ")) << wrong;
  }
  EXPECT_FALSE(split_brokers(" ,").ok());
}

TEST(Listener, NobodyThereIsSaid) {
  const absl::Status away = reach("127.0.0.1:1", std::chrono::seconds(5));
  EXPECT_TRUE(absl::IsUnavailable(away));
  EXPECT_EQ(away.message(), "127.0.0.1:1 cannot be reached: Connection refused");
}

Speaks spoken(const kafka_test::AnsweringServer::Answer& answer) {
  const kafka_test::AnsweringServer server(answer);
  const absl::StatusOr<Speaks> speaks = ask_listener(server.address(), std::chrono::seconds(5));
  EXPECT_TRUE(speaks.ok()) << speaks.status();
  return speaks.value_or(Speaks::neither);
}

TEST(Listener, IsKnownByItsAnswer) {
  const std::string length("\0\0\0\6", 4), alert("\x15\3\1\0\2\2\x28", 7);
  // A broker repeats the number of the request.
  EXPECT_EQ(spoken([&](const std::string& asked) { return length + asked.substr(8, 4) + "xy"; }),
            Speaks::plain);
  EXPECT_EQ(spoken([&](const std::string&) { return length + "abcdxy"; }), Speaks::neither);
  EXPECT_EQ(spoken([&](const std::string&) { return std::string(alert); }), Speaks::tls);
  // A listener with TLS may say nothing to a request without it.
  EXPECT_EQ(spoken([&](const std::string& asked) { return asked[0] == 0x16 ? alert : ""; }), Speaks::tls);
  EXPECT_EQ(spoken([](const std::string&) { return "HTTP/1.1 400 Bad Request\r\n\r\n"; }), Speaks::neither);
  EXPECT_EQ(spoken([](const std::string&) { return ""; }), Speaks::neither);
}

}  // namespace
}  // namespace doppel::kafka
