// `doppel config check --connect` and every start explain mistakes between doppel and its cluster before they
// create anything.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kafka/acl.h"
#include "kafka/case.h"

namespace doppel::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Ran check(const IndexSetup& setup) {
  return run_doppel("config check --connect '" + setup.config_file() + "'");
}

void expect_refused(IndexSetup& setup, const std::string& why) {
  const Ran ran = check(setup);
  EXPECT_EQ(ran.code, 2) << ran.out << ran.err;
  EXPECT_THAT(ran.err, AllOf(HasSubstr("doppel config: kafka: "), HasSubstr(why)));
  const auto daemon = setup.serve();
  EXPECT_EQ(daemon->await_exit(), 2) << daemon->said();
  EXPECT_THAT(daemon->said(), HasSubstr(why));
}

TEST(Check, WhoeverIsNotLetInIsSaidInWords) {
  const auto broker = Broker::own(1, true);
  Case c({}, broker->bootstrap());
  IndexSetup& setup = c.setup;
  const std::string plain = broker->bootstrap(), tls = "127.0.0.1:" + std::to_string(broker->port(1, 2));

  setup.set({{"kafka.brokers", tls}});
  expect_refused(setup, tls + " speaks TLS, and security.protocol is PLAINTEXT");
  setup.set(
      {{"kafka.brokers", plain}, {"kafka.properties", sasl_properties(*broker, "PLAIN", "doppel-secret")}});
  expect_refused(setup, plain + " speaks plain text, and security.protocol is SASL_SSL");
  setup.set(
      {{"kafka.brokers", tls}, {"kafka.properties", sasl_properties(*broker, "PLAIN", "wrong-secret")}});
  expect_refused(setup, tls + ": SASL authentication error");
  EXPECT_THAT(check(setup).err, Not(HasSubstr("wrong-secret")));
  setup.set({{"kafka.properties", sasl_properties(*broker, "SCRAM-SHA-256", "doppel-secret")}});
  expect_refused(setup, "supported mechanisms");
  setup.set({{"kafka.properties",
              "{security.protocol: SASL_SSL, sasl.mechanism: PLAIN, sasl.username: doppel, sasl.password: "
              "doppel-secret}"}});
  expect_refused(setup, "certificate verify failed");
  setup.set({{"kafka.properties", sasl_properties(*broker, "SCRAM-SHA-512", "doppel-secret")}});
  if (rd_kafka_version() < 0x020601ff) {
    expect_refused(setup, "Brokers of Kafka 4 refuse SCRAM-SHA-512 of librdkafka before 2.6.1");
  } else {
    EXPECT_EQ(check(setup).code, 0) << check(setup).err;
  }
  EXPECT_FALSE(c.client.topic_exists(setup.options().kafka.index_log));

  setup.set({{"kafka.properties", sasl_properties(*broker, "PLAIN", "doppel-secret")}});
  const Ran right = check(setup);
  EXPECT_EQ(right.code, 0) << right.err;
  EXPECT_THAT(right.out, AllOf(HasSubstr("of 1 broker: SASL_SSL PLAIN, librdkafka "),
                               HasSubstr("serve creates it, with 2 partitions")));
  EXPECT_FALSE(c.client.topic_exists(setup.options().kafka.index_log)) << "a check makes nothing";
}

TEST(Check, AllRightsThatAreMissingAreInOneList) {
  const auto broker = Broker::own(1, true);
  Case c(IndexSetup::Settings{{"output.unique_topic", "~-unique"}}, broker->bootstrap());
  IndexSetup& setup = c.setup;
  const Options& o = setup.options();
  c.client.create_topic(o.output.topic);
  c.client.create_topic(o.output.dead_letters);
  setup.set({{"kafka.brokers", "127.0.0.1:" + std::to_string(broker->port(1, 2))},
             {"kafka.properties", sasl_properties(*broker, "PLAIN", "doppel-secret")}});
  EXPECT_EQ(check(setup).code, 0) << check(setup).err;
  constexpr auto kDescribe = RD_KAFKA_ACL_OPERATION_DESCRIBE,
                 kConfigs = RD_KAFKA_ACL_OPERATION_DESCRIBE_CONFIGS;
  allow(c.client, setup.input(), "doppel", {kDescribe, kConfigs, RD_KAFKA_ACL_OPERATION_WRITE});
  allow(c.client, o.output.topic, "doppel", {kDescribe, kConfigs, RD_KAFKA_ACL_OPERATION_READ});
  allow(c.client, o.output.dead_letters, "doppel", {kDescribe, RD_KAFKA_ACL_OPERATION_WRITE});
  const auto all_three = AllOf(HasSubstr("the right Read on the topic " + setup.input() + " is missing"),
                               HasSubstr("the right Write on the topic " + o.output.topic + " is missing"),
                               HasSubstr("the right DescribeConfigs on the topic " + o.output.dead_letters));
  const Ran ran = check(setup);
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, all_three);
  const auto daemon = setup.serve();
  EXPECT_EQ(daemon->await_exit(), 2) << daemon->said();
  EXPECT_THAT(daemon->said(), all_three);
  EXPECT_FALSE(c.client.topic_exists(o.output.unique_topic)) << "nothing is made before all is right";
  EXPECT_FALSE(c.client.topic_exists(o.kafka.index_log));
  EXPECT_TRUE(read_all(broker->bootstrap(), o.output.topic).empty()) << "asking for rights leaves nothing";

  allow(c.client, setup.input(), "doppel", {RD_KAFKA_ACL_OPERATION_READ});
  allow(c.client, o.output.topic, "doppel", {RD_KAFKA_ACL_OPERATION_WRITE});
  allow(c.client, o.output.dead_letters, "doppel", {kConfigs});
  c.produce_next(100);
  const auto allowed = c.start();
  c.await_all(*allowed);
  Case::stop(*allowed);
  setup.set({{"kafka.brokers", broker->bootstrap()}, {"kafka.properties", "{}"}});
  c.expect_exact();
}

// Without these, serve would start, and then wait or fail.
TEST(Check, RightsOnGroupsAndTheTransactionalIdAndOnATopicThatIsHidden) {
  const auto broker = Broker::own(1, true);
  Case c({{"kafka.takeover", "standby"}}, broker->bootstrap());
  IndexSetup& setup = c.setup;
  const Options& o = setup.options();
  const std::string id = "doppel-" + o.kafka.index_log;
  c.client.create_topic(o.output.topic);
  setup.set({{"kafka.brokers", "127.0.0.1:" + std::to_string(broker->port(1, 2))},
             {"kafka.properties", sasl_properties(*broker, "PLAIN", "doppel-secret")}});
  EXPECT_EQ(check(setup).code, 0) << check(setup).err;
  broker->allow("another", "Write", "transactional-id=" + id);
  broker->allow("another", "Read", "group=" + o.kafka.group);
  broker->allow("doppel", "Describe", "group=" + id + "-daemons");
  broker->allow("another", "Write", "topic=" + o.output.topic);
  const auto all =
      AllOf(HasSubstr("the right Write on the transactional id " + id + " is missing"),
            HasSubstr("the right Read on the group " + o.kafka.group + " is missing"),
            HasSubstr("the right Read on the group " + id + "-daemons is missing"),
            HasSubstr("the topic " + o.output.topic + " exists, and the right Describe on it is"));
  const Ran ran = check(setup);
  EXPECT_EQ(ran.code, 2) << ran.out;
  EXPECT_THAT(ran.err, all);
  const auto daemon = setup.serve();
  EXPECT_EQ(daemon->await_exit(), 2) << daemon->said();
  EXPECT_THAT(daemon->said(), all);
  EXPECT_FALSE(c.client.topic_exists(o.kafka.index_log)) << "nothing is made before all is right";
  broker->allow("doppel", "Write", "transactional-id=" + id);
  for (const std::string& group : {o.kafka.group, id + "-daemons"})
    broker->allow("doppel", "Read", "group=" + group);
  broker->allow("doppel", "All", "topic=" + o.output.topic);
  EXPECT_EQ(check(setup).code, 0) << check(setup).err;
  // Asking fences nobody.
  c.produce_next(100);
  const auto allowed = c.start();
  EXPECT_EQ(check(setup).code, 0) << check(setup).err;
  c.await_all(*allowed);
  Case::stop(*allowed);
  EXPECT_THAT(allowed->said(), Not(HasSubstr("fenced")));
}

// Such brokers make whoever asks the owner of the id.
TEST(Check, ADaemonIsNotFencedWhereBrokersAllowEveryTimeOut) {
  const auto broker = Broker::own(1, true);
  std::ofstream(broker->folder() + "/node-1/server.properties", std::ios::app)
      << "\ntransaction.max.timeout.ms=2147483647\n";
  broker->restart();
  Case c({{"kafka.takeover", "standby"}}, broker->bootstrap());
  IndexSetup& setup = c.setup;
  const std::string unchecked =
      "the right Write on the transactional id doppel-" + setup.options().kafka.index_log + " is not checked";
  c.produce_next(100);
  const auto daemon = c.start();
  c.await_all(*daemon);
  setup.set({{"kafka.brokers", "127.0.0.1:" + std::to_string(broker->port(1, 2))},
             {"kafka.properties", sasl_properties(*broker, "PLAIN", "doppel-secret")}});
  const Ran ran = check(setup);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr(unchecked));
  c.produce_next(100);
  c.await_all(*daemon);
  EXPECT_THAT(daemon->said(), Not(HasSubstr("fenced")));
  // Who may not read the settings of brokers cannot know. The daemon goes on.
  allow(c.client, "kafka-cluster", "another", {RD_KAFKA_ACL_OPERATION_DESCRIBE_CONFIGS},
        RD_KAFKA_RESOURCE_BROKER);
  const Ran hidden = check(setup);
  EXPECT_EQ(hidden.code, 0) << hidden.err;
  EXPECT_THAT(hidden.out, Not(HasSubstr(unchecked)));
  setup.set({{"kafka.brokers", broker->bootstrap()}, {"kafka.properties", "{}"}});
  c.finish(*daemon);
}

// A topic that exists and is hidden gets some seconds to appear: all of them together.
TEST(Check, TopicsThatAreHiddenAreAskedForTogether) {
  const auto broker = Broker::own(1, true);
  Case c(IndexSetup::Settings{{"output.unique_topic", "~-unique"}}, broker->bootstrap());
  IndexSetup& setup = c.setup;
  const Options& o = setup.options();
  const std::vector<std::string> hidden{o.kafka.index_log, o.output.topic, o.output.dead_letters,
                                        o.output.unique_topic};
  for (const std::string& topic : hidden) {
    c.client.create_topic(topic);
    c.client.hide_topic(topic, "doppel");
  }
  setup.set({{"kafka.brokers", "127.0.0.1:" + std::to_string(broker->port(1, 2))},
             {"kafka.properties", sasl_properties(*broker, "PLAIN", "doppel-secret")}});
  const auto begin = std::chrono::steady_clock::now();
  const Ran ran = check(setup);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(14));  // one after the other: 20
  EXPECT_EQ(ran.code, 2) << ran.out;
  for (const std::string& topic : hidden)
    EXPECT_THAT(ran.err,
                HasSubstr("the topic " + topic + " exists, and the right Describe on it is missing"));
}

TEST(Check, WhatMayNotBeMadeIsSaidBeforeAnythingIsMade) {
  const auto broker = Broker::own(1, true);
  Case c(IndexSetup::Settings{{"output.unique_topic", "~-unique"}}, broker->bootstrap());
  IndexSetup& setup = c.setup;
  const Options& o = setup.options();
  setup.set({{"kafka.brokers", "127.0.0.1:" + std::to_string(broker->port(1, 2))},
             {"kafka.properties", sasl_properties(*broker, "PLAIN", "doppel-secret")}});
  allow(c.client, "kafka-cluster", "another", {RD_KAFKA_ACL_OPERATION_CREATE}, RD_KAFKA_RESOURCE_BROKER);
  EXPECT_EQ(check(setup).code, 0) << check(setup).err;
  allow(c.client, o.output.unique_topic, "doppel", {RD_KAFKA_ACL_OPERATION_DESCRIBE});
  const std::string missing = "the right Create on the topic " + o.output.unique_topic + " is missing";
  const Ran ran = check(setup);
  EXPECT_EQ(ran.code, 2) << ran.out;
  EXPECT_THAT(ran.err, HasSubstr("output.unique_topic: " + missing));
  const auto daemon = setup.serve();
  EXPECT_EQ(daemon->await_exit(), 2) << daemon->said();
  EXPECT_THAT(daemon->said(), HasSubstr(missing));
  for (const std::string& topic : {o.kafka.index_log, o.output.topic, o.output.dead_letters})
    EXPECT_FALSE(c.client.topic_exists(topic)) << topic;
}

TEST(Check, TopicsThatAreMissingComeWithTheNearestName) {
  Case c(IndexSetup::Settings{{"kafka.create_topics", "false"}});
  const std::string mistyped = c.setup.input() + "s";
  c.setup.set({{"kafka.topics", "[" + mistyped + ", '^" + c.setup.input() + "$']"}});
  const Options& o = c.setup.options();
  const Ran ran = check(c.setup);
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("kafka.topics: the topic " + mistyped +
                                       " (input) does not exist or is not accessible (did you mean " +
                                       c.setup.input() + "?)"),
                             HasSubstr("kafka.index_log: the topic " + o.kafka.index_log),
                             HasSubstr("output.topic: the topic " + o.output.topic),
                             HasSubstr("--create --topic " + o.output.dead_letters)));
  EXPECT_THAT(ran.out, HasSubstr(c.setup.input() + ": 3 partitions, max.message.bytes=80000000"));
  c.setup.set({{"kafka.create_topics", "true"}});
  const auto daemon = c.start();  // the daemon waits for this topic
  EXPECT_THAT(daemon->said(), HasSubstr("did you mean " + c.setup.input()));
  Case::stop(*daemon);
}

TEST(Check, NothingIsMadeWhileAnotherTopicIsWrong) {
  Case c;
  const Options& o = c.setup.options();
  c.client.create_topic(o.kafka.index_log, 2, {{"cleanup.policy", "compact"}});
  const auto daemon = c.setup.serve();
  EXPECT_EQ(daemon->await_exit(), 2) << daemon->said();
  EXPECT_THAT(daemon->said(), HasSubstr("has 2 partitions; it must have one"));
  EXPECT_FALSE(c.client.topic_exists(o.output.topic));
}

TEST(Check, NobodyThere) {
  Case c;
  c.setup.set({{"kafka.brokers", "127.0.0.1:1, no-such-host.invalid:9092"}});
  const Ran ran = check(c.setup);
  EXPECT_EQ(ran.code, 3) << ran.out;
  EXPECT_THAT(ran.err, AllOf(HasSubstr("127.0.0.1:1 cannot be reached: Connection refused"),
                             HasSubstr("no-such-host.invalid:9092 cannot be reached: ")));
  const auto daemon = c.setup.serve();
  EXPECT_TRUE(daemon->await_line("waiting for Kafka")) << daemon->said();
  daemon->terminate();
  EXPECT_EQ(daemon->await_exit(), 0) << daemon->said();
}

}  // namespace
}  // namespace doppel::testing
