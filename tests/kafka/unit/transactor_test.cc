// Batches of a Transactor on a Kafka in memory: what goes wrong at a call, and what the statistics say.
// The simulation tries far more; a test here says which answer belongs to which fault.
#include "kafka/transactor.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kafka/unit/simulated.h"
#include "state/index_log.h"

namespace doppel::kafka_test {
namespace {

using kafka::Outbox;
using kafka::Transactor;
using simulation::Event;
using simulation::Fault;
using simulation::LifeCluster;
using simulation::StoredRecord;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The owners and batches that readers see in the log, in order.
std::vector<std::string> contents(const std::vector<StoredRecord>& log) {
  std::vector<std::string> out;
  for (const StoredRecord& r : log) {
    const auto record = parse_log_record(r.key.value_or(""), r.value.value_or(""), r.value.has_value());
    if (!record.ok()) {
      out.emplace_back("damaged");
    } else if (const auto* owner = std::get_if<LogOwner>(&*record)) {
      out.push_back(owner->owner);
    } else if (const auto* missing = std::get_if<LogMissing>(&*record)) {
      out.push_back(missing->reason);
    } else if (const auto* batch = std::get_if<LogBatch>(&*record)) {
      out.push_back(fmt::format("({})", batch->records));
    }
  }
  return out;
}

void make_topics(Simulated& kafka) {
  kafka.topic("pages", 1);
  kafka.topic("log", 1);
  kafka.topic("events", 2);
}

kafka::TransactorOptions options_of(const std::string& owner) {
  kafka::TransactorOptions out = transactor_options(owner);
  out.outputs.insert("events");
  return out;
}

class TransactorInMemory : public ::testing::Test {
 protected:
  void SetUp() override { make_topics(kafka); }
  std::unique_ptr<Transactor> open(LifeCluster& cluster, const std::string& owner) {
    auto out = Transactor::open(cluster, options_of(owner), [this] { return stop; });
    EXPECT_TRUE(out.ok()) << out.status();
    return out.ok() ? *std::move(out) : nullptr;
  }
  // One event and one record of the log.
  static void fill(Outbox& outbox, const std::string& name) {
    outbox.clear();
    outbox.add("events", outbox.put(name), outbox.put("event " + name));
    outbox.add_log("log", put_log_missing(outbox.bytes(), {.topic = "pages", .offset = 1, .reason = name}));
  }
  absl::Status commit(Transactor& transactor, const std::string& name) {
    fill(outbox_, name);
    return transactor.commit(outbox_);
  }
  std::vector<std::string> log() { return contents(kafka.committed("log")); }
  std::vector<std::string> events() {
    std::vector<std::string> out;
    for (size_t p = 0; p < 2; ++p)
      for (const StoredRecord& r : kafka.committed("events", p)) out.push_back(r.key.value_or("?"));
    std::sort(out.begin(), out.end());
    return out;
  }
  // Calls that a process makes for a batch if nothing goes wrong, and before its first batch.
  struct Calls {
    int before = 0, batch = 0;
  };
  static Calls calls() {
    Simulated other(1);
    make_topics(other);
    LifeCluster& process = other.process();
    auto transactor = Transactor::open(process, options_of("x"), [] { return false; });
    EXPECT_TRUE(transactor.ok());
    const int before = process.calls();
    Outbox outbox;
    fill(outbox, "x");
    EXPECT_TRUE((*transactor)->commit(outbox).ok());
    return {before, process.calls() - before};
  }

  const Calls usual = calls();
  Simulated kafka{1};
  bool stop = false;

 private:
  Outbox outbox_;
};

TEST_F(TransactorInMemory, CountsWhatItCommits) {
  const auto transactor = open(kafka.process(), "me");
  EXPECT_THAT(log(), ElementsAre("me", "(2)"));
  EXPECT_EQ(transactor->log_offset(), 2);
  EXPECT_EQ(transactor->stats().commits, 0u);
  Outbox empty;
  EXPECT_TRUE(transactor->commit(empty).ok());
  EXPECT_EQ(transactor->stats().commits, 0u);
  EXPECT_EQ(transactor->stats().last_commit_s, 0);

  ASSERT_TRUE(commit(*transactor, "a").ok());
  ASSERT_TRUE(commit(*transactor, "b").ok());
  EXPECT_THAT(log(), ElementsAre("me", "(2)", "a", "(2)", "b", "(2)"));
  EXPECT_THAT(events(), ElementsAre("a", "b"));
  const auto records = kafka.committed("log");
  EXPECT_EQ(transactor->log_offset(), records.back().offset + 1);
  EXPECT_EQ(transactor->stats().commits, 2u);
  EXPECT_EQ(transactor->stats().recoveries, 0u);
  EXPECT_EQ(transactor->stats().resent, 0u);
  EXPECT_EQ(transactor->stats().fenced, 0u);
  EXPECT_GT(transactor->stats().last_commit_s, 0);
  EXPECT_LT(transactor->stats().last_commit_s, .1);

  // The end of the log is behind the marker of the last transaction.
  ASSERT_TRUE(transactor->look_at_end().ok());
  EXPECT_EQ(transactor->log_offset(), kafka.world.broker.topics.at("log").partitions[0].end);
}

TEST_F(TransactorInMemory, RecordsThatTheLeaderNeverStoredAreSentAgain) {
  const auto transactor = open(kafka.process({{.call = usual.before + 1, .fault = Fault::implied}}), "me");
  ASSERT_TRUE(commit(*transactor, "a").ok());
  EXPECT_EQ(transactor->stats().recoveries, 1u);
  EXPECT_EQ(transactor->stats().resent, 1u);
  EXPECT_EQ(transactor->stats().fenced, 0u);
  EXPECT_EQ(transactor->stats().commits, 1u);
  EXPECT_THAT(log(), ElementsAre("me", "(2)", "me", "(2)", "a", "(2)"));  // with a new claim
  EXPECT_THAT(events(), ElementsAre("a"));
  ASSERT_TRUE(commit(*transactor, "b").ok());
  EXPECT_THAT(events(), ElementsAre("a", "b"));
}

// The answer to a commit is lost and it did its work, or it did not: the same call is made again.
TEST_F(TransactorInMemory, ACommitWithoutAnswerIsRepeated) {
  for (const uint32_t did : {0u, 1u}) {
    Simulated other(2);
    make_topics(other);
    LifeCluster& process =
        other.process({{.call = usual.before + 1, .fault = Fault::lose_commit, .bits = did}});
    const auto transactor = open(process, "me");
    ASSERT_TRUE(commit(*transactor, "a").ok());
    EXPECT_EQ(transactor->stats().recoveries, 0u);
    EXPECT_THAT(contents(other.committed("log")), ElementsAre("me", "(2)", "a", "(2)"));
  }
}

// The broker accepts a commit and dies before it writes the markers. Only a broken connection tells.
TEST_F(TransactorInMemory, ABatchWhoseMarkersAreLostIsSentAgain) {
  const auto transactor =
      open(kafka.process({{.call = usual.before + 1, .fault = Fault::forget_marks, .bits = ~0U}}), "me");
  absl::Status status = commit(*transactor, "a");
  ASSERT_TRUE(status.ok()) << status;
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(transactor->look_after().ok());
  EXPECT_THAT(events(), ElementsAre("a"));
  EXPECT_THAT(log(), ElementsAre("me", "(2)", "me", "(2)", "a", "(2)"));
  EXPECT_EQ(transactor->stats().recoveries, 1u);
  EXPECT_EQ(transactor->stats().resent, 1u);
  EXPECT_EQ(kafka.world.broker.did.lost, 0u);
}

// Without a broken connection, too. Else progress that moves back would hide that "a" was committed.
TEST_F(TransactorInMemory, TheLastBatchIsAwaitedBeforeProgressMovesBack) {
  for (const uint32_t lost : {~0U, 2U, 0U}) {
    Simulated other(3);
    make_topics(other);
    LifeCluster& process =
        other.process({{.call = usual.before + 1, .fault = Fault::forget_marks, .bits = lost}});
    const auto transactor = open(process, "me");
    ASSERT_TRUE(commit(*transactor, "a").ok());
    process.trouble = process.trouble_next = false;
    const absl::Status status = transactor->await_last();
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(other.committed("events", 0).size() + other.committed("events", 1).size(), 1u);
    const auto records = other.committed("log");
    EXPECT_EQ(contents(records), lost == 0
                                     ? (std::vector<std::string>{"me", "(2)", "a", "(2)"})
                                     : (std::vector<std::string>{"me", "(2)", "me", "(2)", "a", "(2)"}));
    EXPECT_EQ(transactor->log_offset(), records.back().offset + 1);
    ASSERT_TRUE(commit(*transactor, "b").ok());
  }
}

TEST_F(TransactorInMemory, AnotherProcessThatClaimsTheLogIsNamed) {
  const auto first = open(kafka.process(), "first");
  ASSERT_TRUE(commit(*first, "a").ok());
  const auto second = open(kafka.process(), "second");
  const absl::Status looked = first->look_at_end();
  EXPECT_TRUE(absl::IsAborted(looked)) << looked;
  EXPECT_THAT(looked.message(), HasSubstr("another process (second) has taken over the index log log"));
  const absl::Status status = commit(*first, "b");
  EXPECT_TRUE(absl::IsAborted(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("another process (second) has taken over the index log log"));
  EXPECT_EQ(first->stats().fenced, 1u);
  EXPECT_EQ(first->stats().commits, 1u);
  ASSERT_TRUE(commit(*second, "c").ok());
  EXPECT_THAT(log(), ElementsAre("first", "(2)", "a", "(2)", "second", "(2)", "c", "(2)"));
  EXPECT_THAT(events(), ElementsAre("a", "c"));
}

// Its markers are missing, so readers do not see the claim. It was committed all the same.
TEST_F(TransactorInMemory, AClaimThatHangsIsAClaim) {
  const auto first = open(kafka.process(), "first");
  ASSERT_TRUE(commit(*first, "a").ok());
  LifeCluster& process = kafka.process();
  const auto producer = process.producer({.id = "doppel", .compressed_topics = {}});
  ASSERT_TRUE((*producer)->init().ok());
  ASSERT_TRUE((*producer)->begin().ok());
  Outbox claim;
  claim.add_log("log", put_log_owner(claim.bytes(), {"second"}));
  claim.seal("log");
  ASSERT_TRUE((*producer)->produce(claim, 0).ok());
  ASSERT_TRUE((*producer)->flush().ok());
  process.forget_bits = ~0U;
  ASSERT_TRUE((*producer)->commit().ok());
  ASSERT_THAT(log(), ElementsAre("first", "(2)", "a", "(2)"));

  const absl::Status status = commit(*first, "b");
  EXPECT_TRUE(absl::IsAborted(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("another process (second) has taken over the index log log"));
  EXPECT_THAT(events(), ElementsAre("a"));
}

// The broker's time-out fences a process that slept; nobody else claims the log, so it goes on.
TEST_F(TransactorInMemory, AProcessThatSleptGoesOn) {
  const auto transactor =
      open(kafka.process({{.call = usual.before + 2, .fault = Fault::pause, .ms = 60'000}}), "me");
  ASSERT_TRUE(commit(*transactor, "a").ok());
  EXPECT_EQ(transactor->stats().fenced, 1u);
  EXPECT_GT(transactor->stats().last_commit_s, 60);
  EXPECT_THAT(events(), ElementsAre("a"));
  ASSERT_TRUE(commit(*transactor, "b").ok());
  EXPECT_EQ(transactor->stats().fenced, 1u);
  EXPECT_EQ(transactor->stats().commits, 2u);
}

TEST_F(TransactorInMemory, AStopEndsTheWaitForABrokerThatIsAway) {
  const auto transactor = open(
      kafka.process({{.call = usual.before + 1, .fault = Fault::broker_away, .ms = 1'000'000'000}}), "me");
  stop = true;
  const absl::Status status = commit(*transactor, "a");
  EXPECT_TRUE(absl::IsCancelled(status)) << status;
  EXPECT_EQ(transactor->stats().commits, 0u);
}

// A record is refused: nothing is committed, the message is marked, and a smaller batch takes its place.
TEST_F(TransactorInMemory, ARefusedBatchIsReplaced) {
  const auto transactor = open(kafka.process(), "me");
  ASSERT_TRUE(commit(*transactor, "before").ok());
  kafka.world.broker.topics["events"].configs["max.message.bytes"] = "300";
  Outbox large;
  fill(large, std::string(300, 'x'));
  const absl::Status status = transactor->commit(large);
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_TRUE(large.messages()[0].refused);
  EXPECT_FALSE(large.messages()[1].refused);
  Outbox small;
  fill(small, "small");
  ASSERT_TRUE(transactor->commit(small, &large).ok());
  EXPECT_THAT(events(), ElementsAre("before", "small"));
  EXPECT_EQ(transactor->stats().commits, 2u);
}

// Every fault at every call of two batches: readers see each batch once, in order.
TEST_F(TransactorInMemory, EachBatchOnceWhateverFaultAtWhateverCall) {
  constexpr Fault kFaults[] = {Fault::refuse,      Fault::lose_answer,  Fault::lose_commit,
                               Fault::broker_away, Fault::forget_marks, Fault::late_marks,
                               Fault::implied,     Fault::pause};
  const int calls = usual.before + 2 * usual.batch;
  const auto seed = std::random_device()();
  std::mt19937_64 random(seed);
  for (int round = 0; round < 20; ++round) {
    for (int n = 0; n < static_cast<int>(std::size(kFaults)) * calls; ++n) {
      const Fault fault = kFaults[n / calls];
      const int call = n % calls + 1;
      SCOPED_TRACE(fmt::format("seed {}, round {}, {} at call {}", seed, round, fault_name(fault), call));
      Simulated other(random());
      make_topics(other);
      Event event{.call = call, .fault = fault, .ms = 15'000, .bits = 0};
      if (fault == Fault::forget_marks) event.bits = static_cast<uint32_t>(random());
      if (fault == Fault::lose_commit) event.bits = random() & 1;
      LifeCluster& process = other.process({event});
      const auto transactor = open(process, "me");
      ASSERT_NE(transactor, nullptr);
      for (const char* name : {"a", "b", "c"}) {
        const absl::Status status = commit(*transactor, name);
        ASSERT_TRUE(status.ok()) << status;
        for (int i = 0; i < 5; ++i) ASSERT_TRUE(transactor->look_after().ok());
      }
      other.world.broker.mark_late();
      std::vector<std::string> batches;
      for (const std::string& one : contents(other.committed("log")))
        if (one != "me" && one != "(2)") batches.push_back(one);
      EXPECT_THAT(batches, ElementsAre("a", "b", "c"));
      size_t events = 0;
      for (size_t p = 0; p < 2; ++p) events += other.committed("events", p).size();
      EXPECT_EQ(events, 3u);
    }
  }
}

// Nothing of a batch is published if the log was deleted and made again: it lacks the index then.
TEST_F(TransactorInMemory, ALogThatWasMadeAgainTakesNoBatch) {
  for (const bool idle : {false, true}) {
    auto transactor = open(kafka.process(), "first");
    ASSERT_TRUE(commit(*transactor, "one").ok());
    const std::vector<std::string> before = events();
    kafka.world.broker.recreate("log", 1);
    const absl::Status status = idle ? transactor->look_at_end() : commit(*transactor, "two");
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr("the index log log ends at offset"),
                      HasSubstr("deleted and created again. doppel rebuild --from state")));
    EXPECT_EQ(events(), before);
    EXPECT_THAT(log(), ElementsAre());
  }
}

}  // namespace
}  // namespace doppel::kafka_test
