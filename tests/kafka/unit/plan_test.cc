// From a configuration to topics that exist.

#include "kafka/topics/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kafka/unit/topics_cluster.h"

namespace doppel {
namespace {

using kafka_test::TopicsCluster;
using testing::HasSubstr;
using testing::IsEmpty;

class Plan : public testing::Test {
 protected:
  Plan() { cluster.there["docs"] = {}; }
  void make_all() {
    for (const char* name : {"events", "dead", "unique"})
      cluster.there[name] = {.settings = {{"retention.ms", "-1"}}};
    cluster.there["log"] = {.settings = {{"cleanup.policy", "compact"}, {"max.message.bytes", "2097152"}}};
  }
  absl::StatusOr<KafkaPlan> plan() { return plan_kafka(options, cluster, how); }

  Options options = kafka_test::options_with_topics();
  TopicsCluster cluster;
  PlanOptions how;
};

TEST_F(Plan, HasTheTopicsWithTheirLimits) {
  make_all();
  cluster.there["events"].settings["max.message.bytes"] = "900001";
  cluster.there["dead"].settings["max.message.bytes"] = "900002";
  cluster.there["unique"].settings["max.message.bytes"] = "900003";
  absl::StatusOr<KafkaPlan> made = plan();
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->kafka, &cluster);
  EXPECT_EQ(made->cluster, "cluster-of-test");
  EXPECT_EQ(made->transactional_id, "doppel-log");
  EXPECT_EQ(made->events.name, "events");
  EXPECT_EQ(made->events.message_bytes_max, 900'001);
  EXPECT_EQ(made->dead_letters.name, "dead");
  EXPECT_EQ(made->dead_letters.message_bytes_max, 900'002);
  EXPECT_EQ(made->unique.name, "unique");
  EXPECT_EQ(made->unique.message_bytes_max, 900'003);
  EXPECT_EQ(made->index_log.name, "log");
  EXPECT_EQ(made->index_log.message_bytes_max, 2'097'152);
  EXPECT_EQ(made->batch_bytes_max, 900'001);
  EXPECT_EQ(made->log_delete_retention_ms, 86'400'000);
  EXPECT_TRUE(made->dead_letters.compressed && made->unique.compressed);
  EXPECT_FALSE(made->events.compressed || made->index_log.compressed);
  EXPECT_THAT(cluster.made, IsEmpty());

  options.kafka.transactional_id = "mine";
  options.kafka.properties = {"compression.type=none"};
  cluster.there["log"].settings["delete.retention.ms"] = "1234567";
  made = plan();
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->transactional_id, "mine");
  EXPECT_FALSE(made->dead_letters.compressed || made->unique.compressed);
  EXPECT_EQ(made->log_delete_retention_ms, 1'234'567);
  options.kafka.properties = {"linger.ms=3", "producer.compression.type=lz4"};
  EXPECT_FALSE(may_compress(options));
  options.kafka.properties = {"linger.ms=3"};
  EXPECT_TRUE(may_compress(options));
}

TEST_F(Plan, MakesWhatIsMissing) {
  options.kafka.create_topics = true;
  const absl::StatusOr<KafkaPlan> made = plan();
  ASSERT_TRUE(made.ok()) << made.status();
  ASSERT_EQ(cluster.made.size(), 4u);
  EXPECT_EQ(cluster.made[0].name, "log");
  EXPECT_EQ(cluster.made[1].name, "events");
  EXPECT_EQ(made->index_log.message_bytes_max, 2 << 20);
  EXPECT_EQ(made->batch_bytes_max, 1'000'000);
}

TEST_F(Plan, MakesNothingWhileSomethingIsWrong) {
  options.kafka.create_topics = true;
  cluster.there["log"] = {.partitions = 3};
  cluster.closed = {"docs"};
  const absl::Status status = plan().status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_EQ(status.message(),
            "the right DescribeConfigs on the topic docs is missing\n"
            "the index log log has 3 partitions; it must have one, because its order is the order of the "
            "index");
  EXPECT_THAT(cluster.made, IsEmpty());
}

TEST_F(Plan, NamesAllThatIsMissing) {
  cluster.there.clear();
  const absl::Status status = plan().status();
  EXPECT_TRUE(absl::IsNotFound(status));
  const std::string says(status.message());
  for (const char* name : {"log", "events", "dead", "unique"})
    EXPECT_THAT(says, HasSubstr(std::string("the topic ") + name + " ("));
  EXPECT_THAT(says, testing::Not(HasSubstr("docs")));  // an input may come later
}

TEST_F(Plan, WaitsForTopicsIfItIsTold) {
  how.await_topics = true;
  int asked = 0;
  how.stop = [&] {
    make_all();
    return ++asked > 2;
  };
  EXPECT_TRUE(plan().ok());
  EXPECT_EQ(asked, 1);
  cluster.there.clear();
  how.stop = [] { return true; };
  EXPECT_TRUE(absl::IsCancelled(plan().status()));
}

TEST_F(Plan, WaitsForBrokers) {
  make_all();
  cluster.status = absl::UnavailableError("nobody there");
  how.stop = [&] {
    cluster.status = absl::OkStatus();
    return false;
  };
  EXPECT_TRUE(plan().ok());
  cluster.status = absl::InternalError("broken");
  EXPECT_TRUE(absl::IsInternal(plan().status()));
}

TEST_F(Plan, AsksBeforeItMakesAnything) {
  options.kafka.create_topics = true;
  how.accept = [](const std::string& id) { return absl::FailedPreconditionError("not " + id); };
  EXPECT_EQ(plan().status().message(), "not cluster-of-test");
  how.reach = [] { return absl::PermissionDeniedError("not let in"); };
  EXPECT_EQ(plan().status().message(), "not let in");
  how.reach = nullptr;
  how.accept = nullptr;
  how.rights = [](std::vector<KafkaTopic>& topics) {
    topics.back().state = KafkaTopic::State::wrong;
    topics.back().says = "no right to write";
  };
  EXPECT_EQ(plan().status().message(), "no right to write");
  EXPECT_THAT(cluster.made, IsEmpty());
}

TEST_F(Plan, RefusesTopicsThatCannotBe) {
  options.kafka.topics = {"docs", "events", "^(", "^x"};
  const std::string says(plan().status().message());
  EXPECT_THAT(says, HasSubstr("kafka.topics: events is also an output: doppel would read what it writes\n"));
  EXPECT_THAT(says, HasSubstr("^("));
  EXPECT_THAT(says, testing::Not(HasSubstr("docs")));
  EXPECT_THAT(says, testing::Not(HasSubstr("^x")));
  options.kafka.topics.clear();
  options.output.topic.clear();
  options.kafka.index_log.clear();
  EXPECT_EQ(plan().status().message(),
            "kafka.topics: name at least one input topic\noutput.topic: name the topic of events\n"
            "kafka.index_log: name the topic of the index log");
}

TEST_F(Plan, EachOutputHasATopicOfItsOwn) {
  options.output.topic = options.kafka.index_log;
  EXPECT_EQ(plan().status().message(), "output.topic: " + options.kafka.index_log +
                                           " is also kafka.index_log; each needs a topic of its own");
  options.output.topic = "events";
  options.output.dead_letters = options.output.unique_topic = "events";
  const std::string says(plan().status().message());
  EXPECT_THAT(says, HasSubstr("output.dead_letters: events is also output.topic; each needs a topic"));
  EXPECT_THAT(says, HasSubstr("output.unique_topic: events is also output.topic"));
  EXPECT_THAT(says, HasSubstr("output.unique_topic: events is also output.dead_letters"));
  options.output.dead_letters = options.output.unique_topic = "";
  EXPECT_FALSE(absl::IsInvalidArgument(plan().status())) << plan().status();
}

TEST_F(Plan, AConfigurationOfManyMachinesNeedsARole) {
  EXPECT_TRUE(check_has_role(options).ok());
  options.cluster.order = "order";
  EXPECT_TRUE(absl::IsInvalidArgument(check_has_role(options)));
  options.cluster.role = ClusterRole::resolver;
  EXPECT_TRUE(check_has_role(options).ok());
}

}  // namespace
}  // namespace doppel
