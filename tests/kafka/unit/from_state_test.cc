// The log that a state directory publishes again restores the same index, also after interruptions.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kafka/unit/from_state_in_memory.h"

namespace doppel::kafka_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

TEST_F(FromState, TheNewLogRestoresTheIndex) {
  options.expire_after_ms = 1'000'000'000;
  const uint64_t seed = std::random_device{}();
  std::mt19937_64 random(seed);
  for (int round = 0; round < 12; ++round) {
    SCOPED_TRACE(fmt::format("seed {}, round {}", seed, round));
    const std::vector<std::string> before = make_index(random_batches(random, now_));
    const std::string log = fmt::format("again-{}", round);
    const LastCommit stored = *last();
    ASSERT_EQ(publish(log), absl::OkStatus());
    const auto copy = read_again(log);
    ASSERT_TRUE(copy.ok()) << copy.status();
    EXPECT_EQ(content(**copy), before);
    EXPECT_EQ(records_of<LogEpoch>(log).back().rebuilt_from, "state");
    EXPECT_EQ(records_of<LogRule>(log).back().rule, records_of<LogRule>("log").back().rule);
    // The directory holds what it held, at the end of the new log.
    const LastCommit now = *last();
    EXPECT_EQ(now.record.next_seq, stored.record.next_seq);
    EXPECT_EQ(now.record.documents, stored.record.documents);
    EXPECT_EQ(now.record.lowest_live, stored.record.lowest_live);
    EXPECT_EQ(now.record.keep_from, stored.record.keep_from);
    EXPECT_EQ(now.record.clock, stored.record.clock);
    EXPECT_EQ(records_of<LogExpire>(log).back().clock, stored.record.clock);
    EXPECT_EQ(last_position().index_log, log);
    if (HasFailure()) return;
    ASSERT_EQ(publish("log"), absl::FailedPreconditionError(fmt::format(
                                  "the index log log already holds index {}; a lost log is published to a "
                                  "new topic",
                                  epoch_string(now.epoch))));
    kafka.world.broker.topics.erase("log");
    ASSERT_EQ(publish("log"), absl::OkStatus());  // the next round continues there
  }
}

TEST_F(FromState, TheDirectoryContinuesTheNewLog) {
  const std::vector<std::string> before = make_index(many(30));
  sleep_ms(1'000);
  ASSERT_EQ(publish(), absl::OkStatus());
  EXPECT_EQ(publisher->open_id, "doppel-again");
  const kafka::KafkaPosition at = last_position();
  EXPECT_EQ(at.cluster, "simulated");
  EXPECT_EQ(at.index_log, "again");
  EXPECT_EQ(at.log_offset, kafka.committed("again").back().offset + 1);
  EXPECT_NEAR(static_cast<double>(at.covered_ms), static_cast<double>(now_ms()), 10);
  const auto journal = read_journal(*File::open(dir / "state/journal", O_RDONLY));
  ASSERT_TRUE(journal.ok()) << journal.status();
  EXPECT_EQ(journal->entries.size(), 1u);  // a checkpoint is its last commit
  const std::vector<LogOwner> owners = records_of<LogOwner>("again");
  ASSERT_EQ(owners.size(), 1u);
  EXPECT_THAT(owners[0].owner, MatchesRegex("rebuild/[0-9]+/17000[0-9]{8}"));

  options.kafka.index_log = "again";
  const auto index = open("reader");
  ASSERT_TRUE(index.ok()) << index.status();
  EXPECT_EQ(content(**index), before);
  for (const RestoreProgress& p : restoring) {
    if (p.phase != "reading the index log") continue;
    EXPECT_LE(p.total, 5u);  // only markers and claims are new
  }
}

TEST_F(FromState, BeginsWithTheEpochAndEndsWithIt) {
  make_index({{page("a", text(1)), page("b", text(2))}});
  ASSERT_EQ(publish(), absl::OkStatus());
  EXPECT_THAT(said("again"), ElementsAre("epoch begun from state", "rule", "row 0", "row 1", "expire",
                                         "pages/0", "epoch whole from state"));
  const LogEpoch before = records_of<LogEpoch>("log").at(0);
  for (const LogEpoch& e : records_of<LogEpoch>("again")) {
    EXPECT_EQ(e.epoch, before.epoch);
    EXPECT_EQ(e.cluster, "simulated");
    EXPECT_EQ(e.data_scheme, before.data_scheme);
    EXPECT_EQ(e.num_perm, 128u);
    EXPECT_EQ(e.mask_words, before.mask_words);
  }
}

// Old originals expire on the way, and the last call must do what the interrupted ones left.
TEST_F(FromState, ContinuesAfterInterruptions) {
  options.max_documents = 4'600;
  const std::vector<std::string> before = make_index(many(6'800));
  const Seq first = last()->record.lowest_live, end = last()->record.next_seq;
  ASSERT_GT(first, 0u);
  ASSERT_GT(end - first, 4'000u);
  const LastCommit stored = *last();
  for (const int stop_at : {1, 1, 1}) {
    const absl::Status interrupted = publish("again", "", stop_at);
    EXPECT_EQ(interrupted, absl::CancelledError("interrupted; the same command continues"));
    EXPECT_EQ(last()->record, stored.record);
    const auto log = read_again("again");  // nobody takes the part for the whole
    ASSERT_TRUE(log.ok()) << log.status();
    EXPECT_FALSE((*log)->epoch.complete);
  }
  const auto rows_of = [&] {
    std::vector<Seq> out;
    for (const LogRow& row : records_of<LogRow>("again")) out.push_back(row.seq);
    return out;
  };
  EXPECT_EQ(rows_of().back(), first + 2 * 2'000 - 1);
  ASSERT_EQ(publish(), absl::OkStatus());
  const std::vector<Seq> rows = rows_of();
  EXPECT_EQ(std::set<Seq>(rows.begin(), rows.end()).size(), rows.size());  // none came twice
  EXPECT_EQ(rows.front(), first);
  EXPECT_EQ(rows.back(), end - 1);
  EXPECT_EQ(records_of<LogEpoch>("again").size(), 2u);
  const auto copy = read_again("again");
  ASSERT_TRUE(copy.ok()) << copy.status();
  EXPECT_TRUE((*copy)->epoch.complete);
  EXPECT_EQ(content(**copy), before);
  EXPECT_EQ(last()->record.keep_from, stored.record.keep_from);
}

TEST_F(FromState, AnInterruptedTransactionHoldsManyRows) {
  make_index(many(4'100));
  EXPECT_TRUE(absl::IsCancelled(publish("again", "", 3)));  // after the epoch and two of three parts
  EXPECT_EQ(records_of<LogRow>("again").back().seq, 3'999u);
  ASSERT_EQ(publish(), absl::OkStatus());
  std::vector<std::string> expected{"epoch begun from state", "rule"};
  for (int seq = 0; seq < 4'100; ++seq) expected.push_back(fmt::format("row {}", seq));
  for (const char* end : {"expire", "pages/0", "epoch whole from state"}) expected.emplace_back(end);
  EXPECT_EQ(said("again"), expected);
  // Without an interruption it is the same log.
  options.state_directory = dir / "other";
  ASSERT_TRUE(open("other").ok());
  ASSERT_EQ(publish("whole"), absl::OkStatus());
  EXPECT_EQ(said("whole"), expected);
}

// Originals that expired are announced in steps, from the directory.
TEST_F(FromState, WhatIsNotAnnouncedYetStaysInTheDirectory) {
  make_index(many(30));
  {
    const auto index = open("writer");
    ASSERT_TRUE(index.ok()) << index.status();
    LogExpire expire = (*index)->position.expire;
    expire.lowest_live = 10;
    expire.announced = 4;
    kafka::Outbox outbox;
    outbox.add_log("log", put_log_expire(outbox.bytes(), expire));
    ASSERT_EQ((*index)->transactor->commit(outbox), absl::OkStatus());
  }
  ASSERT_TRUE(open("writer").ok());  // stores it
  ASSERT_EQ(last()->record.keep_from, 4u);
  ASSERT_EQ(publish(), absl::OkStatus());
  EXPECT_EQ(last()->record.keep_from, 4u);
  EXPECT_EQ(last()->record.lowest_live, 10u);
  EXPECT_EQ(records_of<LogExpire>("again").back().announced, 4u);
  EXPECT_EQ(records_of<LogExpire>("again").back().lowest_live, 10u);
}

// The claim would end a daemon that writes to this log.
TEST_F(FromState, ALogOfAnotherIndexIsLeftAlone) {
  make_index(many(3));
  const auto daemon = open_at("other", {.owner = "daemon"}, "again");
  ASSERT_TRUE(daemon.ok()) << daemon.status();
  const std::string held = epoch_string((*daemon)->epoch.epoch);
  EXPECT_EQ(publish(), absl::FailedPreconditionError("the index log again already holds index " + held +
                                                     "; a lost log is published to a new topic"));
  EXPECT_EQ(fill(**daemon, 1), absl::OkStatus());
}

TEST_F(FromState, TheSameIndexIsNotPublishedTwice) {
  make_index(many(3));
  ASSERT_EQ(publish(), absl::OkStatus());
  const size_t records = kafka.committed("again").size();
  const absl::Status twice = publish();
  EXPECT_TRUE(absl::IsFailedPrecondition(twice)) << twice;
  EXPECT_THAT(twice.message(), HasSubstr("the index log again already holds index"));
  EXPECT_EQ(kafka.committed("again").size(), records);
}

// Another kind of rebuild left it.
TEST_F(FromState, AnUnfinishedRebuildFromDocumentsIsNotContinued) {
  make_index(many(3));
  LogEpoch epoch = records_of<LogEpoch>("log").at(0);
  epoch.complete = false;
  epoch.rebuilt_from = "files";
  std::string bytes;
  const LogPlace at = put_log_epoch(bytes, epoch);
  kafka.topic("again", 1);
  for (const auto& [name, value] : kafka.world.broker.topics["log"].configs)
    kafka.world.broker.topics["again"].configs[name] = value;
  kafka.world.broker.append({"again", 0}, record_of(bytes, at));
  const absl::Status published = publish();
  EXPECT_THAT(std::string(published.message()), HasSubstr("already holds index"));
}

TEST_F(FromState, ADirectoryWithoutAnIndexIsSaid) {
  EXPECT_EQ(publish(),
            absl::FailedPreconditionError(options.state_directory + ": holds no index to publish"));
}

// The room for documents follows from max_memory and the buffers, once.
TEST_F(FromState, KeepsTheRuleInForce) {
  options.max_memory = uint64_t{2} << 30;
  make_index(many(3));
  options.kafka.fetch_queue /= 2;
  ASSERT_EQ(publish(), absl::OkStatus());
  const std::string rule = records_of<LogRule>("log").at(0).rule;
  EXPECT_THAT(rule, HasSubstr("documents_in_memory="));
  EXPECT_EQ(records_of<LogRule>("again").at(0).rule, rule);
  EXPECT_EQ(last()->rule, rule);
}

// Another recall would choose other bands for a new index.
TEST_F(FromState, KeepsTheBands) {
  options.recall = .9;
  const std::vector<std::string> before = make_index(many(20));
  options.recall = .995;
  ASSERT_EQ(publish(), absl::OkStatus());
  EXPECT_EQ(records_of<LogRule>("again").at(0).rule, records_of<LogRule>("log").at(0).rule);
  const auto copy = read_again("again");
  ASSERT_TRUE(copy.ok()) << copy.status();
  EXPECT_EQ(content(**copy), before);
}

}  // namespace
}  // namespace doppel::kafka_test
