// Which of the records that hang were committed, on a Kafka in memory.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kafka/rescue.h"
#include "kafka/unit/simulated.h"
#include "state/index_log.h"

namespace doppel::kafka_test {
namespace {

using kafka::Hanging;
using kafka::InputPlace;
using kafka::Outbox;
using kafka::TopicPartition;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class HangingInMemory : public ::testing::Test {
 protected:
  HangingInMemory() {
    kafka.topic("pages", 1);
    kafka.topic("log", 1);
    kafka.topic("events", 2);
    batch(3);
    for (auto& r : kafka.world.broker.topics["log"].partitions[0].records)
      r.state = simulation::StoredRecord::State::committed;
  }
  // An event about the document, with a key or none, and a value or none.
  void event(int32_t partition, int64_t document, bool named = true) {
    simulation::StoredRecord record;
    record.timestamp_ms = 5'000 + document;
    record.state = simulation::StoredRecord::State::open;
    if (document % 2 == 0) record.key = fmt::format("k{}", document);
    if (document % 3 != 0) record.value = fmt::format("v{}", document);
    record.headers.emplace_back("content-type", "application/json");
    if (named) record.headers.emplace_back("ce_id", fmt::format("pages/0/{}", document));
    kafka.world.broker.append({"events", partition}, record);
  }
  // So many records of the log. `said`: the number that the last record of the batch has.
  void batch(int records, std::optional<int> said = std::nullopt, const std::string& owner = "") {
    Outbox outbox;
    for (int i = 1; i < records; ++i)
      outbox.add_log("log", owner.empty() ? put_log_missing(outbox.bytes(), {"pages", 0, i, "gone"})
                                          : put_log_owner(outbox.bytes(), {owner}));
    if (!said || *said >= 0)
      outbox.add_log("log", put_log_batch(outbox.bytes(), {static_cast<uint64_t>(said.value_or(records))}));
    for (const Outbox::Message& m : outbox.messages()) {
      simulation::StoredRecord record;
      record.state = simulation::StoredRecord::State::open;
      record.key = outbox.view(*m.key);
      record.value = outbox.view(*m.value);
      kafka.world.broker.append({"log", 0}, record);
    }
  }
  Hanging read(const std::vector<TopicPartition>& places) {
    committed.clear();
    auto found = read_hanging(
        cluster, {"log", 0}, places, [this](const InputPlace& p) { return p.offset < covered; }, committed);
    EXPECT_TRUE(found.ok()) << found.status();
    return *found;
  }
  std::vector<std::string> names() {
    std::vector<std::string> out;
    for (const Outbox::Message& m : committed.messages()) {
      EXPECT_EQ(m.partition, m.stored_in);
      out.push_back(fmt::format("{}/{}@{}", *m.topic, m.stored_in, m.offset));
    }
    return out;
  }

  Simulated kafka{1};
  kafka::Cluster& cluster = kafka.process();
  Outbox committed;
  int64_t covered = 0;  // documents below it are covered by the log
  const TopicPartition log{"log", 0}, events{"events", 1};
};

TEST_F(HangingInMemory, WhatTheLogCoversWasCommitted) {
  event(0, 1);
  for (int64_t document = 1; document <= 5; ++document) event(1, document);
  event(1, 9, false);  // says of no document that it is about it
  covered = 4;
  const Hanging found = read({events, {"events", 0}});
  EXPECT_FALSE(found.log_is_whole);
  EXPECT_THAT(found.drop, ElementsAre(events, TopicPartition{"events", 0}));
  EXPECT_THAT(names(), ElementsAre("events/1@0", "events/1@1", "events/1@2", "events/1@5", "events/0@0"));
  // The same record, to be sent again.
  const Outbox::Message& second = committed.messages()[1];
  EXPECT_EQ(committed.view(*second.key), "k2");
  EXPECT_EQ(committed.view(*second.value), "v2");
  EXPECT_EQ(second.timestamp_ms, 5'002);
  ASSERT_EQ(second.headers_end - second.headers_begin, 2u);
  const auto& id = committed.all_headers()[second.headers_begin + 1];
  EXPECT_EQ(committed.view(id.name), "ce_id");
  EXPECT_EQ(committed.view(*id.value), "pages/0/2");
  EXPECT_FALSE(committed.messages()[0].key);
  EXPECT_FALSE(committed.messages()[2].value);
}

TEST_F(HangingInMemory, AWholeBatchInTheLogWasCommitted) {
  batch(3);
  batch(2);
  event(1, 7);  // covered or not
  const Hanging found = read({events, log});
  EXPECT_TRUE(found.log_is_whole);
  EXPECT_THAT(found.drop, ElementsAre(events));  // our next commit makes the log's records visible
  EXPECT_THAT(names(), ElementsAre("events/1@0", "log/0@3", "log/0@4", "log/0@5", "log/0@6", "log/0@7"));
}

TEST_F(HangingInMemory, APartOfABatchWasAborted) {
  const auto expect_aborted = [this] {
    covered = 100;
    const Hanging found = read({log, events});
    EXPECT_FALSE(found.log_is_whole);
    EXPECT_THAT(found.drop, ElementsAre(log, events));
    EXPECT_THAT(names(), IsEmpty());
  };
  event(1, 7);
  batch(3, -1);  // its last record is missing
  expect_aborted();
}

TEST_F(HangingInMemory, ABatchThatMissesRecordsWasAborted) {
  batch(3);
  batch(3, 4);
  batch(3);
  const Hanging found = read({log});
  EXPECT_FALSE(found.log_is_whole);
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(HangingInMemory, ARecordThatCannotBeReadIsPartOfNoBatch) {
  batch(3);
  simulation::StoredRecord record;
  record.state = simulation::StoredRecord::State::open;
  record.key = "?";
  record.value = "?";
  kafka.world.broker.append({"log", 0}, record);
  batch(1, 2);
  EXPECT_FALSE(read({log}).log_is_whole);
}

TEST_F(HangingInMemory, AClaimInAWholeBatchIsOfAnOwner) {
  EXPECT_EQ(hanging_claim(cluster, log, "us").value(), std::nullopt);
  batch(3, std::nullopt, "us");
  EXPECT_EQ(hanging_claim(cluster, log, "us").value(), std::nullopt);
  EXPECT_EQ(hanging_claim(cluster, log, "we").value(), "us");
  batch(3, 5, "them");  // aborted
  EXPECT_EQ(hanging_claim(cluster, log, "us").value(), std::nullopt);
  batch(2, std::nullopt, "others");
  EXPECT_EQ(hanging_claim(cluster, log, "us").value(), "others");
}

}  // namespace
}  // namespace doppel::kafka_test
