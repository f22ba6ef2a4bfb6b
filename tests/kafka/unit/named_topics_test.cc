// Which topics a configuration names, and what is said of each.

#include "kafka/topics/named_topics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kafka/unit/topics_cluster.h"

namespace doppel {
namespace {

using kafka_test::TopicsCluster;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::StartsWith;
using State = KafkaTopic::State;

constexpr int64_t kWeekMs = 604'800'000;

class NamedTopics : public testing::Test {
 protected:
  NamedTopics() {
    cluster.there["docs"] = {.partitions = 3};
    cluster.there["events"] = {.partitions = 2};
    cluster.there["dead"] = cluster.there["unique"] = {.partitions = 1, .settings = {{"retention.ms", "-1"}}};
    cluster.there["log"] = {.settings = {{"cleanup.policy", "compact"},
                                         {"max.message.bytes", "2097152"},
                                         {"delete.retention.ms", std::to_string(kWeekMs)}}};
  }

  std::vector<KafkaTopic> look() {
    absl::StatusOr<std::vector<KafkaTopic>> found = look_at_topics(options, cluster);
    EXPECT_TRUE(found.ok()) << found.status();
    return found.ok() ? *std::move(found) : std::vector<KafkaTopic>();
  }
  KafkaTopic of(const std::string& key) {
    for (KafkaTopic& topic : look()) {
      if (topic.key == key) return std::move(topic);
    }
    ADD_FAILURE() << "nothing is said of " << key;
    return {};
  }

  Options options = kafka_test::options_with_topics();
  TopicsCluster cluster;
};

TEST_F(NamedTopics, ComeInTheirOrder) {
  const std::vector<KafkaTopic> topics = look();
  ASSERT_EQ(topics.size(), 5u);
  struct Expected {
    const char *key, *name;
    bool reads, writes;
    size_t partitions;
    int64_t bytes;
  };
  const Expected expected[] = {{"kafka.topics", "docs", true, false, 3, 1'048'588},
                               {"kafka.index_log", "log", true, true, 1, 2'097'152},
                               {"output.topic", "events", false, true, 2, 1'048'588},
                               {"output.dead_letters", "dead", false, true, 1, 1'048'588},
                               {"output.unique_topic", "unique", false, true, 1, 1'048'588}};
  for (size_t i = 0; i < topics.size(); ++i) {
    SCOPED_TRACE(expected[i].key);
    EXPECT_EQ(topics[i].key, expected[i].key);
    EXPECT_EQ(topics[i].name, expected[i].name);
    EXPECT_EQ(topics[i].reads, expected[i].reads);
    EXPECT_EQ(topics[i].writes, expected[i].writes);
    EXPECT_EQ(topics[i].partitions, expected[i].partitions);
    EXPECT_EQ(topics[i].message_bytes_max, expected[i].bytes);
    EXPECT_EQ(topics[i].state, State::right);
    EXPECT_EQ(topics[i].says + topics[i].warning + topics[i].remedy + topics[i].unreadable, "");
    EXPECT_EQ(topics[i].spec.has_value(), expected[i].writes);
  }
  EXPECT_EQ(topics[1].delete_retention_ms, kWeekMs);
  options.output.dead_letters.clear();
  options.output.unique_topic.clear();
  EXPECT_EQ(look().size(), 3u);
}

TEST_F(NamedTopics, ThatAreMissingComeWithTheirCommand) {
  cluster.there = {{"dosc", {}}, {"__consumer_offsets", {}}};
  options.kafka.partitions = 5;
  const KafkaTopic input = of("kafka.topics");
  EXPECT_EQ(input.state, State::missing);
  EXPECT_EQ(input.says, "the topic docs (input) does not exist or is not accessible (did you mean dosc?)");
  EXPECT_FALSE(input.spec.has_value());
  const KafkaTopic events = of("output.topic");
  EXPECT_EQ(events.state, State::missing);
  EXPECT_THAT(events.says, StartsWith("the topic events (events) does not exist or is not accessible; set "
                                      "kafka.create_topics: true, or run:\n  kafka-topics.sh"));
  ASSERT_TRUE(events.spec.has_value());
  EXPECT_EQ(events.spec->partitions, 5);
  EXPECT_EQ(events.spec->replication, -1);
  EXPECT_THAT(events.spec->configs, ElementsAre(Pair("max.message.bytes", "1048576")));
  const KafkaTopic log = of("kafka.index_log");
  EXPECT_EQ(log.spec->partitions, 1);
  EXPECT_THAT(log.spec->configs,
              ElementsAre(Pair("cleanup.policy", "compact"), Pair("max.message.bytes", "2097152"),
                          Pair("delete.retention.ms", std::to_string(kWeekMs)),
                          Pair("min.compaction.lag.ms", "60000")));
  options.max_record = 3 << 20;
  EXPECT_THAT(of("kafka.index_log").spec->configs[1], Pair("max.message.bytes", "3276800"));
}

TEST_F(NamedTopics, OfAnExpressionAreNotThoseThatDoppelWrites) {
  cluster.there["docs-2"] = {.partitions = 4, .settings = {{"max.message.bytes", "5000000"}}};
  cluster.there["docs-events"] = {.partitions = 6};
  cluster.there["__docs"] = {.partitions = 8};
  options.output.topic = "docs-events";
  options.kafka.topics = {"^docs", "^_"};
  const std::vector<KafkaTopic> topics = look();
  EXPECT_THAT(topics[0].fits, ElementsAre("docs", "docs-2"));
  EXPECT_EQ(topics[0].partitions, 7u);
  EXPECT_EQ(topics[0].message_bytes_max, 5'000'000);
  EXPECT_EQ(topics[1].state, State::missing);
  EXPECT_EQ(topics[1].says, "no accessible topic matches ^_");
  EXPECT_THAT(kafka_inputs(options).never, ElementsAre("docs-events", "dead", "unique", "log"));
}

TEST_F(NamedTopics, OfCopiesHaveRoomForTheLargestInput) {
  const auto room = [&] {
    cluster.there.erase("dead");
    return of("output.dead_letters").spec->configs;
  };
  EXPECT_THAT(room(), ElementsAre(Pair("max.message.bytes", std::to_string(1'048'588 + 65'536)),
                                  Pair("retention.ms", "-1")));
  cluster.there["docs"].settings["max.message.bytes"] = "1000";  // events need a megabyte
  EXPECT_THAT(room()[0], Pair("max.message.bytes", std::to_string(1'048'576 + 65'536)));
  cluster.there["docs"].settings["max.message.bytes"] = "2147483647";
  EXPECT_THAT(room()[0], Pair("max.message.bytes", "1000000000"));
}

TEST_F(NamedTopics, OfCopiesLoseOldOnes) {
  auto& settings = cluster.there["unique"].settings;
  for (const char* retention : {"0", "604800000"}) {
    settings["retention.ms"] = retention;
    const KafkaTopic topic = of("output.unique_topic");
    EXPECT_EQ(topic.state, State::right);
    EXPECT_THAT(topic.warning, HasSubstr("loses copies of old documents"));
    EXPECT_EQ(
        topic.remedy,
        "kafka-configs.sh --bootstrap-server broker:1 --alter --entity-type topics --entity-name unique "
        "--add-config retention.ms=-1");
  }
  settings["message.timestamp.type"] = "LogAppendTime";
  EXPECT_EQ(of("output.unique_topic").warning, "");
  settings["message.timestamp.type"] = "CreateTime";
  settings["cleanup.policy"] = "compact";
  EXPECT_EQ(of("output.unique_topic").warning, "");
  settings["cleanup.policy"] = "compact,delete";
  EXPECT_NE(of("output.unique_topic").warning, "");
}

TEST_F(NamedTopics, OfEventsAreNotCompacted) {
  EXPECT_EQ(of("output.topic").warning, "");
  cluster.there["events"].settings["cleanup.policy"] = "compact";
  EXPECT_THAT(of("output.topic").warning, HasSubstr("takes none of a document without a key"));
  EXPECT_THAT(of("output.topic").remedy, HasSubstr("cleanup.policy=delete"));
}

TEST_F(NamedTopics, TheIndexLogIsSafe) {
  auto& log = cluster.there["log"];
  const int64_t needed = 1'000'000 + 131'072;  // max_record and what is beside it
  log.settings["max.message.bytes"] = std::to_string(needed);
  EXPECT_EQ(of("kafka.index_log").state, State::right);
  log.settings["max.message.bytes"] = std::to_string(needed - 1);
  KafkaTopic topic = of("kafka.index_log");
  EXPECT_EQ(topic.state, State::wrong);
  EXPECT_THAT(topic.says, HasSubstr("max.message.bytes is 1131071, and max_record (1000000) needs 1131072"));
  EXPECT_THAT(topic.says, HasSubstr("--entity-name log --add-config max.message.bytes=1131072"));
  log.settings["max.message.bytes"] = "2097152";

  log.settings["cleanup.policy"] = "compact,delete";
  EXPECT_THAT(of("kafka.index_log").says, HasSubstr("which loses the index"));
  log.settings["cleanup.policy"] = "compact";
  log.partitions = 2;
  EXPECT_THAT(of("kafka.index_log").says, HasSubstr("has 2 partitions; it must have one"));
  log.partitions = 1;

  log.settings["delete.retention.ms"] = std::to_string(kWeekMs - 1);
  topic = of("kafka.index_log");
  EXPECT_EQ(topic.state, State::right);
  EXPECT_THAT(topic.warning, HasSubstr("drops removals too early"));
  EXPECT_THAT(topic.remedy, HasSubstr("delete.retention.ms=604800000"));
  EXPECT_EQ(topic.delete_retention_ms, kWeekMs - 1);
  log.settings["delete.retention.ms"] = "0";
  EXPECT_NE(of("kafka.index_log").warning, "");
  log.settings["delete.retention.ms"] = "";
  EXPECT_EQ(of("kafka.index_log").warning, "");
  EXPECT_EQ(of("kafka.index_log").delete_retention_ms, -1);
}

TEST_F(NamedTopics, WhoseSettingsAreClosedAreWrong) {
  for (const auto& [name, key] : {std::pair("docs", "kafka.topics"), std::pair("events", "output.topic"),
                                  std::pair("log", "kafka.index_log")}) {
    cluster.closed = {name};
    const KafkaTopic topic = of(key);
    EXPECT_EQ(topic.state, State::wrong);
    EXPECT_EQ(topic.says, std::string("the right DescribeConfigs on the topic ") + name + " is missing");
  }
  cluster.status = absl::UnavailableError("nobody there");
  EXPECT_TRUE(absl::IsUnavailable(look_at_topics(options, cluster).status()));
}

TEST_F(NamedTopics, OfAnIndexOnManyMachines) {
  cluster.there["log-answers"] = {.partitions = 2};
  options.cluster.role = ClusterRole::matcher;
  EXPECT_EQ(answers_topic(options), "log-answers");
  std::vector<KafkaTopic> topics = look();
  ASSERT_EQ(topics.size(), 3u);
  EXPECT_EQ(topics[0].state, State::wrong);
  EXPECT_THAT(topics[0].says, HasSubstr("the topic docs (input) has 3 partitions; a matcher needs one"));
  EXPECT_FALSE(topics[1].writes);
  EXPECT_EQ(topics[2].key, "cluster.role");
  EXPECT_TRUE(topics[2].reads && topics[2].writes);
  EXPECT_EQ(topics[2].state, State::right);
  EXPECT_THAT(topics[2].spec->configs,
              ElementsAre(Pair("cleanup.policy", "delete"), Pair("max.message.bytes", "8388608"),
                          Pair("retention.ms", "3600000")));
  EXPECT_EQ(topics[2].spec->partitions, 2);

  cluster.there["docs"].partitions = 1;
  cluster.there["log-answers"].partitions = 1;
  options.cluster.role = ClusterRole::resolver;
  topics = look();
  ASSERT_EQ(topics.size(), 6u);
  EXPECT_EQ(topics[0].state, State::right);
  EXPECT_TRUE(topics[1].writes);
  EXPECT_THAT(topics[2].says, HasSubstr("the topic log-answers (answers) has 1 partition; it needs two"));
}

TEST_F(NamedTopics, OfASigner) {
  options.cluster.role = ClusterRole::signer;
  options.cluster.order = "order";
  cluster.there["order"] = {.partitions = 1};
  std::vector<KafkaTopic> topics = look();
  ASSERT_EQ(topics.size(), 2u);
  EXPECT_EQ(topics[0].state, State::right);  // of several partitions
  EXPECT_EQ(topics[1].key, "cluster.order");
  EXPECT_EQ(topics[1].state, State::right);
  cluster.there["order"].partitions = 2;
  EXPECT_EQ(look()[1].says, one_partition("order", 2));
  EXPECT_THAT(one_partition("order", 2), HasSubstr("the topic order (signed records) has 2 partitions"));
  const kafka::TopicSpec spec = signed_topic(options, "order");
  EXPECT_EQ(spec.name, "order");
  EXPECT_EQ(spec.partitions, 1);
  EXPECT_EQ(spec.replication, -1);
  EXPECT_THAT(spec.configs, testing::Contains(Pair("max.message.bytes", "2097152")));
  options.max_record = 2 << 20;
  EXPECT_THAT(signed_topic(options, "order").configs,
              testing::Contains(Pair("max.message.bytes", std::to_string((2 << 20) + kBesidesSet))));
  EXPECT_EQ(sign_group(options, "order"), "doppel-sign-order");
}

TEST_F(NamedTopics, ASourceReadsAsConfigured) {
  options.kafka.batch_documents = 7;
  options.batch_bytes = 1'000;
  options.kafka.batch_ms = 3;
  options.kafka.fetch_queue = 55;
  options.kafka.metadata_interval_ms = 44;
  kafka::KafkaSourceOptions source =
      kafka_source_options(options, kafka_inputs(options), [] { return true; });
  EXPECT_EQ(source.group, "doppel");
  EXPECT_THAT(source.topics.names, ElementsAre("docs"));
  EXPECT_EQ(source.batch_records, 7u);
  EXPECT_EQ(source.batch_bytes, 1'000u);
  EXPECT_EQ(source.linger_ms, 3);
  EXPECT_EQ(source.queue_bytes, 55u);
  EXPECT_EQ(source.metadata_ms, 44);
  EXPECT_FALSE(source.from_latest || source.continue_after_loss);
  EXPECT_EQ(source.recreated_stops, "");
  EXPECT_TRUE(source.stop());
  options.kafka.start = StartAt::latest;
  options.kafka.on_data_loss = OnDataLoss::go_on;
  options.kafka.on_recreated = OnRecreated::stop;
  source = kafka_source_options(options, {}, nullptr);
  EXPECT_TRUE(source.from_latest && source.continue_after_loss);
  EXPECT_THAT(source.recreated_stops, HasSubstr("set kafka.on_recreated: read"));
  options.cluster.role = ClusterRole::resolver;
  EXPECT_THAT(kafka_source_options(options, {}, nullptr).recreated_stops, HasSubstr("The order of all"));
}

// Two transactions end well within shutdown_timeout, and one within its time-out: the longest takes an eighth
// of the shorter one.
TEST_F(NamedTopics, TransactionsStayBelowBothTimeOuts) {
  for (const auto& [transaction_ms, shutdown_ms] : {std::pair(8'000, 80'000), std::pair(80'000, 8'000)}) {
    options.shutdown_timeout_ms = shutdown_ms;
    kafka::Pace pace = kafka_pace(options, transaction_ms);
    kafka::Pace expected(4'000, options.batch_bytes, std::chrono::seconds(1));
    Clock::time_point now = Clock::now();
    for (const int took_ms : {10, 10, 20, 100, 400, 1'200, 3'000, 200, 100, 5'000}) {
      const std::chrono::milliseconds took(took_ms);
      now += took;
      pace.settled(pace.records(), pace.bytes(), took, {}, now);
      expected.settled(expected.records(), expected.bytes(), took, {}, now);
      ASSERT_EQ(pace.records(), expected.records());
      ASSERT_EQ(pace.bytes(), expected.bytes());
    }
  }
}

}  // namespace
}  // namespace doppel
