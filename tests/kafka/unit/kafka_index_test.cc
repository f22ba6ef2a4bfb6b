// Opening an index from its log and its state directory, on a Kafka in memory.
#include "kafka/log/kafka_index.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "kafka/unit/index_in_memory.h"

namespace doppel::kafka_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(IndexInMemory, BeginsAnIndexInAnEmptyLog) {
  const auto index = open("me");
  ASSERT_TRUE(index.ok()) << index.status();
  EXPECT_EQ((*index)->index_log, "log");
  EXPECT_EQ((*index)->position.owner, "me");
  EXPECT_EQ((*index)->position.cluster, "simulated");
  EXPECT_TRUE((*index)->epoch.complete);
}

TEST_F(IndexInMemory, ReadsOnlyWhatIsNew) {
  Epoch epoch{};
  int64_t before = 0;
  {
    const auto index = open("first");
    ASSERT_TRUE(index.ok()) << index.status();
    epoch = (*index)->epoch.epoch;
    before = (*index)->position.log_offset;
    ASSERT_TRUE(fill(**index, 5'000).ok());
  }
  const auto index = open("second");
  ASSERT_TRUE(index.ok()) << index.status();
  EXPECT_EQ((*index)->epoch.epoch, epoch);
  EXPECT_EQ((*index)->position.owner, "second");
  std::vector<uint64_t> done;
  uint64_t total = 0;
  for (const RestoreProgress& p : restoring) {
    if (p.phase != "reading the index log" || p.total < 5'000) continue;
    EXPECT_LE(p.total, 5'010u);  // and not what the snapshot has
    total = p.total;
    done.push_back(p.done);
  }
  ASSERT_GE(done.size(), 5u);  // each 1,024 records
  EXPECT_EQ(done.front(), 0u);
  EXPECT_EQ(done.back(), total);
  EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
  EXPECT_GT(before, 0);
}

TEST_F(IndexInMemory, ContinuesWithoutItsStateDirectory) {
  Epoch epoch{};
  {
    const auto index = open("first");
    ASSERT_TRUE(index.ok()) << index.status();
    epoch = (*index)->epoch.epoch;
    ASSERT_TRUE(write_progress(**index, {{.topic = "docs", .partition = 0, .next = 7}}).ok());
    ASSERT_TRUE(release_log(**index).ok());
    EXPECT_EQ((*index)->position.owner, "/first");
  }
  options.state_directory = dir / "other";
  const auto index = open("", true);
  ASSERT_TRUE(index.ok()) << index.status();
  EXPECT_EQ((*index)->epoch.epoch, epoch);
  EXPECT_EQ((*index)->position.owner, "/first");
  EXPECT_EQ((*index)->position.progress.at({"docs", 0}).next, 7);
  EXPECT_EQ((*index)->transactor, nullptr);
}

// Another daemon with another configuration names the same log by mistake.
TEST_F(IndexInMemory, OtherTopicsAreRefusedUnlessTheIndexIsKnownHere) {
  {
    const auto index = open("first");
    ASSERT_TRUE(index.ok()) << index.status();
    ASSERT_TRUE(write_progress(**index, {{.topic = "docs", .partition = 0, .next = 0}}).ok());
  }
  ASSERT_TRUE(open("first").ok());
  options.kafka.topics = {"pages"};
  EXPECT_TRUE(open("second").ok());  // only a warning
  options.state_directory = dir / "other";
  const auto index = open("second");
  EXPECT_TRUE(absl::IsInvalidArgument(index.status())) << index.status();
  EXPECT_EQ(open("second").status(), index.status());  // a supervisor starts it again
  options.state_directory = dir / "third";
  options.cluster.role = ClusterRole::resolver;  // it reads another topic than the signers
  EXPECT_TRUE(open("resolver").ok());
  options.cluster.role = ClusterRole::all;
  EXPECT_THAT(index.status().message(),
              HasSubstr("the index log log belongs to an index that reads other topics: docs."));
}

TEST_F(IndexInMemory, AForgottenTopicIsNoOtherTopic) {
  {
    const auto index = open("first");
    ASSERT_TRUE(index.ok()) << index.status();
    LogProgress progress{.topic = "docs", .partition = 0, .next = 3};
    ASSERT_TRUE(write_progress(**index, {progress}).ok());
    progress.forgotten = true;
    ASSERT_TRUE(write_progress(**index, {progress}).ok());
    EXPECT_THAT((*index)->position.progress, IsEmpty());
  }
  options.kafka.topics = {"pages"};
  options.state_directory = dir / "other";
  const auto index = open("second");
  ASSERT_TRUE(index.ok()) << index.status();
  EXPECT_THAT((*index)->position.progress, IsEmpty());
}

// Another recall would choose other bands for a new index.
TEST_F(IndexInMemory, KeepsTheBandsThatItWasMadeWith) {
  options.recall = .9;
  ASSERT_TRUE(open("first").ok());
  options.recall = .995;
  for (const char* directory : {"state", "other"}) {
    const auto index = open_at(directory, {});
    EXPECT_TRUE(index.ok()) << index.status();
  }
}

TEST_F(IndexInMemory, WritingNothingCommitsNothing) {
  const auto index = open("me");
  ASSERT_TRUE(index.ok()) << index.status();
  const auto commits = kafka.world.broker.did.commits;
  ASSERT_TRUE(write_progress(**index, {}).ok());
  EXPECT_EQ(kafka.world.broker.did.commits, commits);
  ASSERT_TRUE(write_generation(**index, "g").ok());
  EXPECT_EQ(kafka.world.broker.did.commits, commits + 1);
  EXPECT_EQ((*index)->position.log_offset, (*index)->transactor->log_offset());
}

}  // namespace
}  // namespace doppel::kafka_test
