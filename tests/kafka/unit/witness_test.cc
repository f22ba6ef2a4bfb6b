// Whether a topic is still the one that was read, by the last record of each partition.
#include "kafka/same_topic.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "kafka/unit/simulated.h"

namespace doppel::kafka_test {
namespace {

using kafka::Found;
using kafka::LastRead;
using kafka::TopicComparer;
using ::testing::ElementsAre;

class WitnessInMemory : public ::testing::Test {
 protected:
  WitnessInMemory() {
    kafka.topic("pages", 3);
    for (int32_t p = 0; p < 3; ++p)
      for (int i = 0; i < 5; ++i) add(p, i);
  }
  void add(int32_t partition, int i) {
    simulation::StoredRecord record;
    record.timestamp_ms = 1'000 + i;
    record.key = fmt::format("k{}", i);
    record.value = fmt::format("v{}/{}", partition, i);
    kafka.world.broker.append({"pages", partition}, record);
  }
  // What is known of the record at this offset.
  static LastRead last(int32_t partition, int64_t offset) {
    kafka::Incoming record;
    const std::string key = fmt::format("k{}", offset), value = fmt::format("v{}/{}", partition, offset);
    record.key = key;
    record.value = value;
    return {.place = {"pages", partition},
            .offset = offset,
            .timestamp_ms = 1'000 + offset,
            .checksum = kafka::checksum_of(record)};
  }
  simulation::Partition& partition(size_t n) { return kafka.world.broker.topics["pages"].partitions[n]; }
  std::vector<Found> compare(const std::vector<LastRead>& records) {
    const auto found = TopicComparer::open(kafka.process()).value()->compare(records);
    EXPECT_TRUE(found.ok()) << found.status();
    return found.value_or(std::vector<Found>());
  }
  Simulated kafka{1};
};

TEST_F(WitnessInMemory, KnowsTheRecordAgain) {
  EXPECT_THAT(compare({last(0, 4), last(1, 2), last(2, 0)}),
              ElementsAre(Found::same, Found::same, Found::same));
  LastRead unknown = last(0, 4);
  unknown.checksum.reset();
  EXPECT_THAT(compare({unknown}), ElementsAre(Found::same));
}

TEST_F(WitnessInMemory, KnowsAnotherRecord) {
  LastRead value = last(0, 3), time = last(1, 3);
  ++*value.checksum;
  ++time.timestamp_ms;
  EXPECT_THAT(compare({value, time, last(2, 3)}), ElementsAre(Found::another, Found::another, Found::same));
}

TEST_F(WitnessInMemory, APartitionThatEndsBeforeIsAnother) {
  EXPECT_THAT(compare({last(0, 5), last(1, 4)}), ElementsAre(Found::ended, Found::same));
  EXPECT_THAT(compare({last(0, 50), last(1, 4), last(2, 9)}),
              ElementsAre(Found::ended, Found::same, Found::ended));
}

TEST_F(WitnessInMemory, ARecordThatIsGoneSaysNothing) {
  kafka.world.broker.topics["pages"].configs["cleanup.policy"] = "compact,delete";
  partition(0).records.erase(partition(0).records.begin() + 2);
  partition(1).records.erase(partition(1).records.begin(), partition(1).records.begin() + 3);
  partition(1).low = 3;  // retention
  EXPECT_THAT(compare({last(0, 2), last(1, 2), last(2, 2)}),
              ElementsAre(Found::removed, Found::removed, Found::same));
}

// Without compaction, a marker or an aborted record is at the place.
TEST_F(WitnessInMemory, AHoleIsNoRecordThatWasRemoved) {
  partition(0).records.erase(partition(0).records.begin() + 2);
  partition(1).records[2].state = simulation::StoredRecord::State::aborted;
  partition(2).records.pop_back();
  EXPECT_THAT(compare({last(0, 2), last(1, 2), last(2, 4)}),
              ElementsAre(Found::hole, Found::hole, Found::hole));
}

TEST_F(WitnessInMemory, ABrokerThatIsAwayIsAwaitedForSomeSeconds) {
  kafka.world.away_until = kafka.world.scheduler.now() + std::chrono::seconds(2);
  EXPECT_THAT(compare({last(0, 4)}), ElementsAre(Found::same));
  kafka.world.away_until = kafka.world.scheduler.now() + std::chrono::seconds(60);
  const auto found = TopicComparer::open(kafka.process()).value()->compare(std::vector<LastRead>{last(0, 4)});
  EXPECT_TRUE(absl::IsUnavailable(found.status())) << found.status();
  EXPECT_EQ(std::string(found.status().message()), "the last record read from pages could not be read again");
}

TEST_F(WitnessInMemory, ATopicThatIsGoneIsAnError) {
  kafka.world.broker.topics.erase("pages");
  const auto found = TopicComparer::open(kafka.process()).value()->compare(std::vector<LastRead>{last(0, 4)});
  EXPECT_TRUE(absl::IsNotFound(found.status())) << found.status();
}

}  // namespace
}  // namespace doppel::kafka_test
