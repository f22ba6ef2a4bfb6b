// A second daemon follows the log of an index until it is its turn; and what other processes may do to the
// log meanwhile.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "kafka/unit/index_in_memory.h"

namespace doppel::kafka_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class StandingBy : public IndexInMemory {
 protected:
  StandingBy() {
    options.kafka.topics = {"pages"};
    options.threads = 1;
    // Another daemon is the chosen member of the group.
    kafka.world.broker.seat = {.member = "doppel-other",
                               .heard = kafka.world.scheduler.now() + std::chrono::hours(24)};
  }
  // Opens the index in the directory "standby". `at_look` is called each time that it looks at the log while
  // it stands by, `at_turn` before it claims the log.
  absl::StatusOr<Index> stand_by(
      const std::function<void(int look)>& at_look, Opening how = {},
      const std::function<void()>& at_turn = [] {}) {
    Options mine = options;
    mine.state_directory = dir / "standby";
    std::filesystem::create_directories(mine.state_directory);
    const auto plan = plan_kafka(mine, kafka.process(), {});
    if (!plan.ok()) return plan.status();
    auto joined = Standby::join(mine, *plan, [&, look = 0](const RestoreProgress& p) mutable {
      if (p.phase == kStandingBy) at_look(++look);
      if (p.phase == "claiming the index log") at_turn();
    });
    if (!joined.ok()) return joined.status();
    standby = *std::move(joined);
    how.owner = "standby";
    how.standby = &standby;
    ::testing::internal::CaptureStderr();
    absl::StatusOr<Index> out = open_at("standby", how);
    log = ::testing::internal::GetCapturedStderr();
    return out;
  }
  void give_turn() { kafka.world.broker.seat.heard = {}; }
  int times(const std::string& text) const {
    int out = 0;
    for (size_t at = log.find(text); at != std::string::npos; at = log.find(text, at + 1)) ++out;
    return out;
  }
  // Another process begins another index in the log.
  void begin_another(uint8_t number) {
    LogEpoch epoch = records_of<LogEpoch>("log").back();
    epoch.epoch.fill(number);
    std::string bytes;
    const LogPlace at = put_log_epoch(bytes, epoch);
    kafka.world.broker.append({"log", 0}, record_of(bytes, at));
  }

  Standby standby;
  std::string log;  // what the last call of stand_by() logged
};

TEST_F(StandingBy, FollowsTheOwnerAndContinuesItsWork) {
  auto owner = open("owner");
  ASSERT_TRUE(owner.ok()) << owner.status();
  ASSERT_EQ(judge(**owner, {{page("a", text(1))}}), absl::OkStatus());
  const auto index = stand_by([&](int look) {
    if (look == 20) {
      EXPECT_EQ(last("standby")->record.next_seq, 7u);  // read before the turn
      give_turn();
    }
    if (look % 3 != 0) return;
    ASSERT_EQ(judge(**owner, {{page("b", text(look))}}), absl::OkStatus());
  });
  ASSERT_TRUE(index.ok()) << index.status();
  EXPECT_EQ((*index)->engine->originals().next_seq(), 7u);
  EXPECT_EQ((*index)->position.owner, "standby/" + standby.member());
  EXPECT_TRUE(absl::IsAborted(fill(**owner, 1)));
  EXPECT_EQ(judge(**index, {{page("c", text(50))}}), absl::OkStatus());
  const auto all = read_again();
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(content(**index), content(**all));
  EXPECT_EQ(times("the index is restored"), 1);
  EXPECT_EQ(times("waiting for Kafka"), 0);
}

// What the owner writes between the last look and the claim counts.
TEST_F(StandingBy, ReadsWhatWasWrittenBeforeTheClaim) {
  auto owner = open("owner");
  ASSERT_TRUE(owner.ok()) << owner.status();
  const auto index = stand_by([&](int look) { look == 3 ? give_turn() : void(); }, {},
                              [&] { EXPECT_EQ(judge(**owner, {{page("a", text(1))}}), absl::OkStatus()); });
  ASSERT_TRUE(index.ok()) << index.status();
  EXPECT_EQ((*index)->engine->originals().next_seq(), 1u);
}

// Without news the log is known up to now, so a daemon can stand by for ever.
TEST_F(StandingBy, AQuietLogCountsAsRead) {
  ASSERT_TRUE(open("owner").ok());
  set_retention_ms(20'000);
  const auto index = stand_by([&](int look) { look == 300 ? give_turn() : void(); });
  ASSERT_TRUE(index.ok()) << index.status();
  EXPECT_THAT(log, Not(HasSubstr("has not been read for too long")));
  EXPECT_EQ(times("the index is restored"), 1);
}

// Removals may be missing in what it would read.
TEST_F(StandingBy, OneThatWasPausedForTooLongLoadsTheIndexAgain) {
  for (const int pause : {9'000, 10'500}) {
    ASSERT_TRUE(open("owner").ok());
    set_retention_ms(20'000);
    kafka.world.broker.seat.member = "doppel-other";
    kafka.world.broker.seat.heard = kafka.world.scheduler.now() + std::chrono::hours(24);
    const auto index = stand_by([&](int look) {
      if (look == 3) sleep_ms(pause);
      if (look == 20) give_turn();
    });
    ASSERT_TRUE(index.ok()) << index.status();
    EXPECT_EQ(times("log has not been read for too long"), pause > 10'000 ? 1 : 0);
  }
}

TEST_F(StandingBy, EndsWhenItIsTold) {
  const absl::Status stopped = absl::CancelledError("stopped while another daemon serves the index");
  bool stop = false;
  const Opening how{.stop = [&] { return stop; }};
  const auto at_look = [&](int look) { stop = look == 5; };
  EXPECT_EQ(stand_by(at_look, how).status(), stopped);  // nobody has begun the index
  EXPECT_TRUE(kafka.committed("log").empty());
  stop = false;
  ASSERT_TRUE(open("owner").ok());
  const size_t records = kafka.committed("log").size();
  EXPECT_EQ(stand_by(at_look, how).status(), stopped);
  EXPECT_EQ(kafka.committed("log").size(), records);
}

TEST_F(StandingBy, TheOneWhoseTurnItIsBeginsTheIndex) {
  absl::StatusOr<Index> owner;
  const auto index = stand_by([&](int look) {
    if (look == 30) owner = open("owner");
    if (look == 40) give_turn();
  });
  ASSERT_TRUE(index.ok()) << index.status();
  ASSERT_TRUE(owner.ok()) << owner.status();
  EXPECT_EQ((*index)->epoch.epoch, (*owner)->epoch.epoch);
  EXPECT_EQ(records_of<LogEpoch>("log").size(), 1u);
}

TEST_F(StandingBy, AnIndexThatBeganBeforeTheClaimIsContinued) {
  absl::StatusOr<Index> other;
  const auto index =
      stand_by([&](int look) { look == 3 ? give_turn() : void(); }, {}, [&] { other = open("other"); });
  ASSERT_TRUE(index.ok()) << index.status();
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_EQ((*index)->epoch.epoch, (*other)->epoch.epoch);
  EXPECT_EQ(records_of<LogEpoch>("log").size(), 1u);
  EXPECT_EQ(records_of<LogOwner>("log").size(), 2u);  // each claimed once
}

TEST_F(StandingBy, AnotherIndexInTheLogIsReadFromTheStart) {
  ASSERT_TRUE(open("owner").ok());
  const auto index = stand_by([&](int look) {
    if (look == 6) give_turn();
    if (look != 3) return;
    begin_another(7);
    kafka.world.broker.compact("log");
  });
  ASSERT_TRUE(index.ok()) << index.status();
  EXPECT_EQ(times("the index log holds another index now"), 1);
  Epoch expected;
  expected.fill(7);
  EXPECT_EQ((*index)->epoch.epoch, expected);
  EXPECT_EQ((*index)->state->epoch(), expected);
  for (const simulation::StoredRecord& r : kafka.committed("log")) {
    if (*r.key != "epoch") continue;
    EXPECT_EQ((*index)->position.epoch_offset, r.offset);
  }
}

TEST_F(StandingBy, ALogThatKeepsChangingIsGivenUp) {
  ASSERT_TRUE(open("owner").ok());
  uint8_t number = 10;
  ::testing::internal::CaptureStderr();
  const auto index = open_at("other", {.owner = "other", .reading = [&] {
                                         kafka.world.broker.compact("log");
                                         begin_another(++number);
                                       }});
  log = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(index.status(), absl::FailedPreconditionError("the index log log keeps changing"));
  EXPECT_EQ(times("the index log holds another index now"), 5);
}

TEST_F(StandingBy, ARebuildThatAnotherProcessFinishedIsNotContinued) {
  const auto first = open(Opening{.owner = "first", .rebuilt_from = "pages 0"});
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_FALSE((*first)->epoch.complete);
  bool finishes = false;
  const Opening how{.owner = "second", .rebuilt_from = "pages 0", .reading = [&] {
                      if (!finishes) return;
                      finishes = false;
                      EXPECT_EQ(complete_rebuild(**first, {}), absl::OkStatus());
                    }};
  finishes = true;
  EXPECT_EQ(open_at("other", how).status(),
            absl::FailedPreconditionError(
                "the index log log holds a finished index; a rebuild needs a log of its own"));
}

TEST_F(StandingBy, ARebuildIsContinued) {
  std::vector<Epoch> begun;
  for (const char* owner : {"first", "second"}) {
    const auto index = open(Opening{.owner = owner, .rebuilt_from = "pages 0"});
    ASSERT_TRUE(index.ok()) << index.status();
    EXPECT_FALSE((*index)->epoch.complete);
    begun.push_back((*index)->epoch.epoch);
  }
  EXPECT_EQ(begun[0], begun[1]);
  EXPECT_EQ(records_of<LogEpoch>("log").size(), 1u);
}

TEST_F(StandingBy, KafkaIsWaitedFor) {
  ASSERT_TRUE(open("owner").ok());
  for (const bool stops : {false, true}) {
    bool first = true;
    const Opening how{.owner = "reader",
                      .stop = [&] { return stops; },
                      .reading =
                          [&] {
                            if (!std::exchange(first, false)) return;
                            kafka.world.away_until = kafka.world.scheduler.now() + std::chrono::minutes(2);
                          }};
    ::testing::internal::CaptureStderr();
    const auto index = open_at("other", how);
    log = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(index.status(),
              stops ? absl::CancelledError("stopped while waiting for Kafka") : absl::OkStatus());
    EXPECT_EQ(times("waiting for Kafka") == 0, stops);
    kafka.world.away_until = {};
  }
}

// Waiting does not begin an index.
TEST_F(StandingBy, AnEmptyLogHoldsNothingToRead) {
  const auto index = open("", true);
  EXPECT_EQ(index.status(), absl::NotFoundError("the index log log holds no index yet"));
  options.dry_run = true;
  EXPECT_TRUE(open("", true).ok());
  EXPECT_TRUE(kafka.committed("log").empty());
}

TEST_F(StandingBy, AnotherRuleIsTakenIfItIsAcceptedByName) {
  ASSERT_TRUE(open("owner").ok());
  options.max_listed += 1;
  const std::string before = records_of<LogRule>("log").back().rule;
  const absl::Status refused = open_at("other", {}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("accept the change by name (accept_rule_change)"));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("max_listed"));
  options.accept_rule_change = {"max_listed"};
  ASSERT_TRUE(open_at("read", {.owner = "", .read_only = true}).ok());
  EXPECT_EQ(records_of<LogRule>("log").size(), 1u);
  {
    const auto index = open_at("other", {});
    ASSERT_TRUE(index.ok()) << index.status();
    EXPECT_EQ((*index)->position.log_offset, kafka.committed("log").back().offset + 1);
    EXPECT_EQ((*index)->state->checkpoint(), absl::OkStatus());
  }
  const std::vector<LogRule> rules = records_of<LogRule>("log");
  ASSERT_EQ(rules.size(), 2u);
  EXPECT_NE(rules[1].rule, before);
  EXPECT_EQ(last("other")->rule, rules[1].rule);
  {
    const auto index = open("owner");  // its directory was made with the old rule
    ASSERT_TRUE(index.ok()) << index.status();
    EXPECT_EQ((*index)->state->checkpoint(), absl::OkStatus());
  }
  EXPECT_EQ(last()->rule, rules[1].rule);
  options.accept_rule_change = {};
  EXPECT_TRUE(open("owner").ok());
  EXPECT_TRUE(open_at("other", {}).ok());
  EXPECT_TRUE(open_at("third", {}).ok());
}

}  // namespace
}  // namespace doppel::kafka_test
