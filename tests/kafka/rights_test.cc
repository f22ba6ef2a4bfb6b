// A right is withdrawn while a daemon runs: the daemon waits, and says so without flooding the log.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "kafka/acl.h"
#include "kafka/case.h"

namespace doppel::testing {
namespace {

class Rights : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { broker = Broker::own(1, true); }
  static void TearDownTestSuite() { broker.reset(); }

  // The daemon's user loses all rights on the topic except these, and gets them back.
  void loses(const std::string& topic, const std::vector<rd_kafka_AclOperation_t>& but,
             const std::string& says) {
    c.setup.set({{"kafka.brokers", "127.0.0.1:" + std::to_string(broker->port(1, 2))},
                 {"kafka.properties", sasl_properties(*broker, "PLAIN", "doppel-secret")}});
    c.produce_next(100);
    const auto daemon = c.start();
    c.await_all(*daemon);
    const size_t before = daemon->said().size();
    allow(c.client, topic, "doppel", but);
    c.produce_next(100);
    EXPECT_TRUE(daemon->await_line(says)) << daemon->said();
    EXPECT_FALSE(daemon->await_exit(Daemon::Seconds(6))) << daemon->said();
    const std::string said = daemon->said().substr(before);
    EXPECT_LE(std::count(said.begin(), said.end(), '\n'), 15) << said;
    allow(c.client, topic, "doppel",
          {RD_KAFKA_ACL_OPERATION_READ, RD_KAFKA_ACL_OPERATION_WRITE, RD_KAFKA_ACL_OPERATION_DESCRIBE,
           RD_KAFKA_ACL_OPERATION_DESCRIBE_CONFIGS});
    c.produce_next(100);
    c.await_all(*daemon);
    Case::stop(*daemon);
    c.setup.set({{"kafka.brokers", broker->bootstrap()}, {"kafka.properties", "{}"}});
    c.expect_exact();
  }

  static std::unique_ptr<Broker> broker;
  Case c{{}, broker->bootstrap()};
};
std::unique_ptr<Broker> Rights::broker;

constexpr auto kDescribe = RD_KAFKA_ACL_OPERATION_DESCRIBE,
               kConfigs = RD_KAFKA_ACL_OPERATION_DESCRIBE_CONFIGS, kRead = RD_KAFKA_ACL_OPERATION_READ;

TEST_F(Rights, ToReadTheInput) {
  loses(c.setup.input(), {kDescribe, kConfigs},
        "the right Read on the topic " + c.setup.input() + " is missing");
}

TEST_F(Rights, ToWriteEvents) {
  const std::string& topic = c.setup.options().output.topic;
  loses(topic, {kDescribe, kConfigs, kRead}, "the right Write on the topic " + topic + " is missing");
}

TEST_F(Rights, ToReadAndWriteEvents) {
  const std::string& topic = c.setup.options().output.topic;
  loses(topic, {kDescribe, kConfigs}, "the right Write on the topic " + topic + " is missing");
}

TEST_F(Rights, ToWriteTheIndexLog) {
  const std::string& topic = c.setup.options().kafka.index_log;
  loses(topic, {kDescribe, kConfigs, kRead}, "the right Write on the topic " + topic + " is missing");
}

}  // namespace
}  // namespace doppel::testing
