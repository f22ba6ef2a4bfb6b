// What readers of a partition see, on a Kafka in memory.
#include "kafka/visibility.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "kafka/unit/simulated.h"

namespace doppel::kafka_test {
namespace {

using kafka::Visibility;
using State = simulation::StoredRecord::State;

class VisibilityInMemory : public ::testing::Test {
 protected:
  VisibilityInMemory() {
    kafka.topic("log", 1);
    kafka.topic("events", 2);
  }
  void add(const std::string& topic, State state = State::committed, const std::string& key = "",
           int32_t partition = 0) {
    simulation::StoredRecord record;
    record.state = state;
    record.key = key;
    record.value = "x";
    kafka.world.broker.append({topic, partition}, record);
  }
  simulation::Partition& log() { return kafka.world.broker.topics.at("log").partitions[0]; }

  Simulated kafka{1};
  kafka::Cluster& cluster = kafka.process();
  Visibility visibility{cluster, "log"};
};

TEST_F(VisibilityInMemory, AnOpenRecordHidesWhatFollows) {
  add("log");
  add("log", State::open);
  add("log");
  EXPECT_EQ(visibility.seen_to({"log", 0}).value(), 1);
  EXPECT_EQ(visibility.stored_to({"log", 0}).value(), 3);
  EXPECT_TRUE(visibility.sees({"log", 0}, {0}).value());
  EXPECT_FALSE(visibility.sees({"log", 0}, {1}).value());
  EXPECT_FALSE(visibility.sees({"log", 0}, {2}).value());
  log().records[1].state = State::aborted;
  EXPECT_FALSE(visibility.sees({"log", 0}, {1}).value());
  EXPECT_TRUE(visibility.sees({"log", 0}, {1, 2}).value());
}

TEST_F(VisibilityInMemory, PartitionsWithOpenRecordsHang) {
  add("events", State::open, "", 1);
  add("log");
  const auto begin = Clock::now();
  const auto hanging = visibility.hanging({"events", "log"}, std::chrono::milliseconds(500));
  ASSERT_TRUE(hanging.ok()) << hanging.status();
  EXPECT_THAT(*hanging, ::testing::ElementsAre(kafka::TopicPartition{"events", 1}));
  EXPECT_GE(Clock::now() - begin, std::chrono::milliseconds(500));
  EXPECT_LT(Clock::now() - begin, std::chrono::milliseconds(600));
}

// Retention deletes only what was decided.
TEST_F(VisibilityInMemory, DeletedRecordsWereSeen) {
  for (int i = 0; i < 4; ++i) add("log", State::aborted);
  EXPECT_FALSE(visibility.sees({"log", 0}, {1, 2}).value());
  log().low = 1;
  EXPECT_FALSE(visibility.sees({"log", 0}, {1, 2}).value());
  log().low = 2;
  EXPECT_TRUE(visibility.sees({"log", 0}, {1, 2}).value());
}

// Compaction removes a record once a later one has its key; an earlier one with the key says nothing.
TEST_F(VisibilityInMemory, ALaterRecordWithTheKeyCounts) {
  add("log", State::committed, "a");
  add("log", State::aborted, "a");
  add("log", State::committed, "b");
  EXPECT_FALSE(visibility.sees({"log", 0}, {1}, {{"a", 1}}).value());
  add("log", State::open, "a");
  EXPECT_FALSE(visibility.sees({"log", 0}, {1}, {{"a", 1}}).value());
  log().records.back().state = State::committed;
  EXPECT_TRUE(visibility.sees({"log", 0}, {1}, {{"a", 1}}).value());
  EXPECT_FALSE(visibility.sees({"log", 0}, {1}, {{"a", 3}}).value());
  EXPECT_FALSE(visibility.sees({"log", 0}, {1}).value());
}

// Transactions of several records; after them others compact the log. The batch is seen if it was committed.
TEST_F(VisibilityInMemory, ABatchIsSeenIfItWasCommitted) {
  const uint64_t seed = std::random_device{}();
  std::mt19937_64 random(seed);
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(fmt::format("seed {}, round {}", seed, round));
    const State state = random() % 2 == 0 ? State::committed : State::aborted;
    kafka::Outbox outbox;
    for (uint64_t n = 1 + random() % 4; n > 0; --n) {
      const std::string key = fmt::format("k{}", random() % 6);
      kafka::Outbox::Message& m = outbox.add("log", outbox.put(key), outbox.put("x"));
      m.partition = m.stored_in = 0;
      m.offset = log().end;
      add("log", state, key);
    }
    for (uint64_t n = random() % 6; n > 0; --n)
      add("log", random() % 3 == 0 ? State::aborted : State::committed, fmt::format("k{}", random() % 9));
    if (random() % 2 == 0) kafka.world.broker.compact("log");
    const auto all = visibility.look_up(outbox);
    ASSERT_TRUE(all.ok()) << all.status();
    // Where a batch is aborted, a later record with one of its keys looks like compaction.
    if (state == State::committed) {
      EXPECT_TRUE(*all);
    }
    for (const kafka::Outbox::Message& m : outbox.messages()) EXPECT_EQ(m.seen, *all);
  }
}

}  // namespace
}  // namespace doppel::kafka_test
