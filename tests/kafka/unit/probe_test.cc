// How long a start tries to reach brokers that do not answer, and what it says then.
#include "kafka/librdkafka/connect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "kafka/unit/answering_server.h"

namespace doppel::kafka_test {
namespace {

using namespace std::chrono_literals;
using kafka::Reached;
using ::testing::HasSubstr;

struct Tried {
  Reached reached;
  std::chrono::steady_clock::duration took{};
};
Tried try_it(const std::string& brokers, std::chrono::milliseconds patience, bool stop = false) {
  kafka::ClientOptions options;
  options.brokers = brokers;
  Tried out;
  const auto start = std::chrono::steady_clock::now();
  out.reached = kafka::try_brokers(options, patience, [stop] { return stop; });
  out.took = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(out.reached.brokers, 0);
  return out;
}

TEST(TryBrokers, EndsAsSoonAsNobodyListens) {
  const Tried tried = try_it("127.0.0.1:1", 60s);
  EXPECT_TRUE(absl::IsUnavailable(tried.reached.status)) << tried.reached.status;
  EXPECT_EQ(std::string(tried.reached.status.message()),
            "kafka: 127.0.0.1:1 cannot be reached: Connection refused");
  EXPECT_LT(tried.took, 30s);
}

TEST(TryBrokers, EndsAsSoonAsOnlyOneSideSpeaksTls) {
  const AnsweringServer server([](const std::string&) { return std::string("\x15\3\1\0\2\2\x28", 7); });
  const Tried tried = try_it(server.address(), 60s);
  EXPECT_TRUE(absl::IsInvalidArgument(tried.reached.status)) << tried.reached.status;
  EXPECT_THAT(tried.reached.status.message(),
              HasSubstr(server.address() + " speaks TLS, and security.protocol is PLAINTEXT"));
  EXPECT_LT(tried.took, 30s);
}

// A broker that is starting does not answer yet.
TEST(TryBrokers, WaitsWhileItIsNotClear) {
  const AnsweringServer server([](const std::string&) { return ""; });
  const Tried tried = try_it(server.address(), 1500ms);
  EXPECT_TRUE(absl::IsUnavailable(tried.reached.status)) << tried.reached.status;
  EXPECT_GE(tried.took, 1500ms);
}

TEST(TryBrokers, EndsWhenItIsStopped) {
  const AnsweringServer server([](const std::string&) { return ""; });
  EXPECT_LT(try_it(server.address(), 60s, true).took, 30s);
}

}  // namespace
}  // namespace doppel::kafka_test
