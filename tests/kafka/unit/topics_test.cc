// Which topics are read, and how one is made.

#include "kafka/topics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kafka/unit/topics_cluster.h"

namespace doppel::kafka {
namespace {

using kafka_test::TopicsCluster;
using testing::ElementsAre;

std::vector<std::string> found(TopicsCluster& cluster, const Inputs& inputs) {
  std::vector<std::string> names;
  const absl::StatusOr<std::vector<TopicPartitions>> topics = find_topics(cluster, inputs);
  EXPECT_TRUE(topics.ok()) << topics.status();
  if (topics.ok()) {
    for (const TopicPartitions& topic : *topics) names.push_back(topic.topic);
  }
  return names;
}

TEST(Inputs, AreNamedOrMatched) {
  TopicsCluster cluster;
  for (const char* name : {"__own", "docs", "docs.new", "events", "mydocs"}) cluster.there[name] = {};
  EXPECT_THAT(found(cluster, {{"docs"}, {}}), ElementsAre("docs"));
  EXPECT_THAT(found(cluster, {{"docs", "mydocs", "none"}, {}}), ElementsAre("docs", "mydocs"));
  EXPECT_THAT(found(cluster, {{"^docs"}, {}}), ElementsAre("docs", "docs.new"));
  EXPECT_THAT(found(cluster, {{"^.*"}, {"events"}}), ElementsAre("docs", "docs.new", "mydocs"));
  EXPECT_THAT(found(cluster, {{"^.*", "__own"}, {"events"}}),
              ElementsAre("__own", "docs", "docs.new", "mydocs"));
  EXPECT_THAT(found(cluster, {{}, {}}), ElementsAre());
}

TEST(Inputs, OfAWrongExpressionAreNone) {
  TopicsCluster cluster;
  cluster.there["docs"] = {};
  EXPECT_FALSE(is_input({{"^(", "docs"}, {}}, "docs"));
  EXPECT_TRUE(is_input({{"^d", "docs"}, {}}, "docs"));
  const absl::Status status = find_topics(cluster, {{"^("}, {}}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()), testing::StartsWith("kafka.topics: "));
}

TEST(Topic, IsMadeByThisCommand) {
  TopicSpec spec{.name = "events", .purpose = "events", .partitions = 3, .replication = -1, .configs = {}};
  EXPECT_EQ(command_to_make(spec, "b:1,c:2"),
            "kafka-topics.sh --bootstrap-server b:1,c:2 --create --topic events --partitions 3");
  spec.replication = 1;
  spec.configs = {{"retention.ms", "-1"}, {"cleanup.policy", "compact"}};
  EXPECT_EQ(command_to_make(spec, "b:1"),
            "kafka-topics.sh --bootstrap-server b:1 --create --topic events --partitions 3 "
            "--replication-factor 1 --config retention.ms=-1 --config cleanup.policy=compact");
}

TEST(Topic, IsKnownWhenItIsMade) {
  TopicsCluster cluster;
  cluster.learns_after = 3;
  const TopicSpec spec{
      .name = "events", .purpose = "events", .partitions = 3, .replication = -1, .configs = {}};
  EXPECT_TRUE(make_topic(cluster, spec).ok());
  EXPECT_EQ(cluster.learns_after, 0);
  cluster.closed = {"events"};
  EXPECT_TRUE(absl::IsPermissionDenied(make_topic(cluster, spec)));
}

}  // namespace
}  // namespace doppel::kafka
