// A topic of signed records whose brokers forget the marks of transactions, on a Kafka in memory.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/signed_record.h"
#include "kafka/unit/simulated.h"
#include "open/setup.h"
#include "records/metadata.h"
#include "signing/sign_topic.h"

namespace doppel::kafka_test {
namespace {

using simulation::Event;
using simulation::Fault;
using State = simulation::StoredRecord::State;
using ::testing::ElementsAre;

class SignedTopicInMemory : public ::testing::Test {
 protected:
  SignedTopicInMemory() {
    kafka.topic("pages", 1);
    kafka.topic("order", 1);
    kafka.world.broker.topics["order"].configs["max.message.bytes"] = "100000000";
    options.kafka.topics = {"pages"};
  }

  std::unique_ptr<SignedTopic> signer(const std::string& id, std::vector<Event> faults = {}) {
    auto out = SignedTopic::open(options, kafka.process(std::move(faults)),
                                 {.topic = "order",
                                  .group = "signers",
                                  .transactional_id = id,
                                  .transaction_timeout_ms = 1'000,
                                  .scheme = scheme.describe(),
                                  .num_perm = scheme.num_perm},
                                 [] { return false; });
    EXPECT_TRUE(out.ok()) << out.status();
    return *std::move(out);
  }

  // The documents [begin, end) of the input as one transaction.
  absl::Status write(SignedTopic& topic, uint64_t begin, uint64_t end) {
    Batch batch;
    std::vector<std::string> out;
    for (uint64_t at = begin; at < end; ++at) {
      Record& record = batch.records.emplace_back();
      record.source = "pages";
      record.partition = 0;
      record.offset = at;
      SignedDocument document;
      document.content = Content::empty;
      encode_metadata({}, document.metadata);
      encode_signed_record(scheme_fingerprint(scheme),
                           {.source = "pages", .partition = 0, .begin = at, .end = at + 1}, document, {},
                           out.emplace_back());
    }
    return topic.write({batch, out});
  }

  // The ranges of the input in the records of the order that readers see.
  std::vector<std::string> seen() {
    std::vector<std::string> out;
    const auto& partition = kafka.world.broker.topics.at("order").partitions.at(0);
    std::vector<uint8_t> slices(static_cast<size_t>(scheme.num_perm));
    for (const simulation::StoredRecord& r : partition.records) {
      if (r.state == State::open) break;
      if (r.state != State::committed) continue;
      SignedOrigin origin;
      SignedDocument document;
      EXPECT_TRUE(decode_signed_record(r.value.value_or(""), scheme_fingerprint(scheme), scheme.num_perm,
                                       origin, document, slices.data())
                      .ok());
      out.push_back(fmt::format("{}-{}", origin.begin, origin.end));
    }
    return out;
  }

  void look_for(SignedTopic& topic, std::chrono::seconds time) {
    for (const auto until = Clock::now() + time; Clock::now() < until; Clock::sleep(std::chrono::seconds(1)))
      topic.look_after();
  }

  // A signer that is gone wrote the documents [begin, end), and nothing marks how its transaction ended.
  // `moved`: the group's offsets are behind them.
  void leave(const std::string& id, uint64_t begin, uint64_t end, bool moved) {
    const auto gone = signer(id);
    ASSERT_TRUE(write(*gone, begin, end).ok());
    auto& records = kafka.world.broker.topics.at("order").partitions.at(0).records;
    for (auto r = records.end() - static_cast<ptrdiff_t>(end - begin); r != records.end(); ++r) {
      r->state = State::open;
      r->transactional_id = id;
      r->forgotten = moved;
    }
    if (!moved) kafka.world.broker.topics.at("pages").group[0].offset = static_cast<int64_t>(begin);
  }

  Simulated kafka{1};
  Options options;
  Scheme scheme;
};

TEST_F(SignedTopicInMemory, WhatASignerThatIsGoneDidNotCommitIsDropped) {
  leave("gone", 0, 2, false);
  const auto other = signer("other");
  ASSERT_TRUE(write(*other, 0, 3).ok());
  EXPECT_THAT(seen(), ElementsAre());
  look_for(*other, std::chrono::seconds(10));
  EXPECT_THAT(seen(), ElementsAre());  // its transaction might be open
  look_for(*other, std::chrono::seconds(10));
  EXPECT_THAT(seen(), ElementsAre("0-1", "1-2", "2-3"));
}

TEST_F(SignedTopicInMemory, WhatASignerThatIsGoneCommittedIsSeen) {
  leave("gone", 0, 2, true);
  const auto other = signer("other");
  ASSERT_TRUE(write(*other, 2, 4).ok());
  EXPECT_THAT(seen(), ElementsAre());
  look_for(*other, std::chrono::seconds(20));
  // The record of no document carries the mark.
  EXPECT_THAT(seen(), ElementsAre("0-1", "1-2", "2-3", "3-4", "1-1"));
}

TEST_F(SignedTopicInMemory, EachSignerThatIsGoneIsLookedAfter) {
  leave("first", 0, 2, true);
  leave("second", 2, 3, false);
  const auto other = signer("other");
  ASSERT_TRUE(write(*other, 2, 3).ok());
  look_for(*other, std::chrono::seconds(60));
  EXPECT_THAT(seen(), ElementsAre("0-1", "1-2", "2-3", "1-1"));
}

TEST_F(SignedTopicInMemory, ABatchWhoseMarkIsForgottenIsNotLost) {
  // Faults at each call of the second batch: its mark is forgotten, and so is the one of the next abort.
  for (int call = 1; call < 60; ++call) {
    SCOPED_TRACE(call);
    kafka.topic("order", 0);
    kafka.world.broker.topics.at("order").partitions.assign(1, {});
    kafka.world.broker.topics.at("pages").group.clear();
    const std::string id = fmt::format("signer-{}", call);
    const int life = kafka.processes();
    const auto topic = signer(id, {{life, call, Fault::forget_marks, 0, 1}, {life, call + 9, Fault::refuse}});
    ASSERT_TRUE(write(*topic, 0, 2).ok());
    ASSERT_TRUE(write(*topic, 2, 4).ok());
    ASSERT_TRUE(write(*topic, 4, 5).ok());
    look_for(*topic, std::chrono::seconds(60));
    std::vector<std::string> documents;
    for (const std::string& range : seen())
      if (range.front() != range.back()) documents.push_back(range);
    EXPECT_THAT(documents, ElementsAre("0-1", "1-2", "2-3", "3-4", "4-5"));
  }
}

}  // namespace
}  // namespace doppel::kafka_test
