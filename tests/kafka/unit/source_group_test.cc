// The offsets of the consumer group, which lag tools and people look at. They decide nothing.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kafka/same_topic.h"
#include "kafka/source.h"
#include "kafka/unit/simulated.h"

namespace doppel::kafka_test {
namespace {

using kafka::GroupOffset;
using kafka::KafkaSource;
using kafka::TopicPartition;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// A Kafka in memory with the offsets of a group, and statistics like the library's.
struct Group {
  std::map<TopicPartition, GroupOffset> offsets;
  std::vector<std::pair<TopicPartition, GroupOffset>> moved;
  int asked = 0;
  uint64_t queued = 0;
};

class GroupConsumer final : public kafka::Consumer {
 public:
  GroupConsumer(std::unique_ptr<kafka::Consumer> inner, Group& group, simulation::World& world,
                std::shared_ptr<kafka::LatestStatistics> statistics)
      : inner_(std::move(inner)), group_(group), world_(world), statistics_(std::move(statistics)) {}

  absl::Status assign(const std::vector<Assignment>& more) override { return inner_->assign(more); }
  void unassign() override { inner_->unassign(); }
  absl::Status poll(size_t max, int wait_ms, std::vector<kafka::Incoming>& out,
                    std::optional<uint32_t> tag) override {
    absl::Status status = inner_->poll(max, wait_ms, out, tag);
    std::string partitions;
    const auto& pages = world_.broker.topics.at("pages").partitions;
    for (size_t p = 0; p < pages.size(); ++p)
      partitions += fmt::format(
          R"({}"{}":{{"partition":{},"fetch_state":"active","fetchq_cnt":{},"next_offset":{},"ls_offset":{}}})",
          p == 0 ? "" : ",", p, p, group_.queued, pages[p].end, pages[p].end);
    statistics_->take(fmt::format(R"({{"topics":{{"pages":{{"partitions":{{{}}}}}}}}})", partitions));
    return status;
  }
  void headers(const kafka::Incoming& record, std::vector<Header>& out) override {
    inner_->headers(record, out);
  }
  void release(std::span<const kafka::Incoming> records) override { inner_->release(records); }
  int64_t known_end(const TopicPartition&) override { return -1; }
  absl::StatusOr<std::vector<GroupOffset>> group_offsets(const std::vector<TopicPartition>& places,
                                                         int) override {
    ++group_.asked;
    std::vector<GroupOffset> out;
    for (const TopicPartition& place : places) out.push_back(group_.offsets[place]);
    return out;
  }
  void move_group(const std::vector<std::pair<TopicPartition, GroupOffset>>& to) override {
    group_.moved.insert(group_.moved.end(), to.begin(), to.end());
  }

 private:
  std::unique_ptr<kafka::Consumer> inner_;
  Group& group_;
  simulation::World& world_;
  std::shared_ptr<kafka::LatestStatistics> statistics_;
};

class GroupCluster final : public simulation::LifeCluster {
 public:
  GroupCluster(simulation::World& world, Group& group) : LifeCluster(world, 0, {}), group_(group) {
    task = 0;
  }
  absl::StatusOr<std::unique_ptr<kafka::Consumer>> consumer(const kafka::ConsumerOptions& options) override {
    auto inner = LifeCluster::consumer(options);
    if (!inner.ok() || options.statistics == nullptr) return inner;
    return std::make_unique<GroupConsumer>(*std::move(inner), group_, world(), options.statistics);
  }

 private:
  Group& group_;
};

class SourceGroup : public ::testing::Test {
 protected:
  SourceGroup() {
    kafka.topic("pages", 2);
    options.idle_ms = 100;
    options.moves_group = true;
  }
  // A transaction of so many records: its marker has an offset, too.
  void add(int32_t partition, int records) {
    simulation::StoredRecord record;
    record.timestamp_ms = 1'600'000'000'000;
    record.value = "x";
    for (; records > 0; --records) kafka.world.broker.append({"pages", partition}, record);
    ++kafka.world.broker.topics["pages"].partitions[static_cast<size_t>(partition)].end;
  }
  std::unique_ptr<KafkaSource> open(const std::vector<LogProgress>& progress = {}) {
    auto source = KafkaSource::open(cluster, options, progress);
    EXPECT_TRUE(source.ok()) << source.status();
    return *std::move(source);
  }
  static void read(KafkaSource& source, std::chrono::milliseconds duration) {
    for (const auto end = Clock::now() + duration; Clock::now() < end;) {
      Batch batch;
      ASSERT_TRUE(source.next(batch).ok());
    }
  }
  // What opening with this progress logs.
  std::string said(const std::vector<LogProgress>& progress) {
    testing::internal::CaptureStderr();
    open(progress);
    return testing::internal::GetCapturedStderr();
  }

  Simulated kafka{1};
  Group group;
  GroupCluster cluster{kafka.world, group};
  kafka::KafkaSourceOptions options = source_options();
};

TEST_F(SourceGroup, MovesBehindTheMarkerOnceEverythingIsRead) {
  add(0, 3);
  const auto source = open();
  read(*source, std::chrono::milliseconds(1'500));
  EXPECT_THAT(group.moved, IsEmpty());  // statistics are not fresh yet
  read(*source, std::chrono::seconds(3));
  ASSERT_THAT(group.moved, SizeIs(1));  // a partition without records keeps its offset
  const std::vector<kafka::ConsumerStatistics::Partition> known = source->statistics()->get().partitions;
  ASSERT_THAT(known, SizeIs(2));
  EXPECT_EQ(known[0].taken, 3);
  EXPECT_EQ(known[1].taken, -1);
  EXPECT_EQ(group.moved[0].first, (TopicPartition{"pages", 0}));
  EXPECT_EQ(group.moved[0].second.offset, 4);
  const auto note = kafka::parse_group_note(group.moved[0].second.note);
  ASSERT_TRUE(note);
  EXPECT_EQ(note->next, 3);
  EXPECT_EQ(note->incarnation, 1u);
  EXPECT_EQ(note->last_ms, 1'600'000'000'000);
  read(*source, std::chrono::seconds(10));
  EXPECT_THAT(group.moved, SizeIs(1));  // once

  group.queued = 1;  // something is fetched that was not handed over
  add(0, 1);
  read(*source, std::chrono::seconds(10));
  EXPECT_THAT(group.moved, SizeIs(1));
  group.queued = 0;
  read(*source, std::chrono::seconds(3));
  ASSERT_THAT(group.moved, SizeIs(2));
  EXPECT_EQ(group.moved[1].second.offset, 6);
}

TEST_F(SourceGroup, StaysWhereItMust) {
  add(0, 3);
  options.moves_group = false;
  read(*open(), std::chrono::seconds(10));
  EXPECT_THAT(group.moved, IsEmpty());
}

TEST_F(SourceGroup, OffsetsThatSomebodyMovedAreReported) {
  add(0, 9);
  const std::vector<LogProgress> progress{
      {.topic = "pages", .partition = 0, .next = 3, .incarnation = 2, .last_ms = 1'600'000'000'000},
      {.topic = "pages", .partition = 1, .next = 0, .incarnation = 2}};
  const std::string differs = "the group's offset differs from the index log";
  group.offsets[{"pages", 0}] = {.offset = 7, .note = ""};
  group.offsets[{"pages", 1}] = {.offset = 0, .note = ""};
  const std::string one = said(progress);
  EXPECT_THAT(one, HasSubstr(differs));
  EXPECT_THAT(one, HasSubstr("partition=0 group_offset=7 index_log=3"));
  EXPECT_THAT(one, Not(HasSubstr("partition=1")));

  group.offsets[{"pages", 0}].note = kafka::group_note(progress[0]);  // ours: behind a marker
  EXPECT_THAT(said(progress), Not(HasSubstr(differs)));
  LogProgress other = progress[0];
  other.incarnation = 1;
  group.offsets[{"pages", 0}].note = kafka::group_note(other);
  EXPECT_THAT(said(progress), HasSubstr(differs));
  other = progress[0];
  other.next = 2;
  group.offsets[{"pages", 0}].note = kafka::group_note(other);
  EXPECT_THAT(said(progress), HasSubstr(differs));
  EXPECT_EQ(group.asked, 4);
  EXPECT_THAT(said({}), Not(HasSubstr(differs)));
  options.compare_offsets = false;
  EXPECT_THAT(said(progress), Not(HasSubstr(differs)));
  EXPECT_EQ(group.asked, 4);
}

}  // namespace
}  // namespace doppel::kafka_test
