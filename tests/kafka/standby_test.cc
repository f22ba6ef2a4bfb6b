// Several daemons for one index: one serves, the others follow its log and wait.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "kafka/case.h"
#include "kafka/log/standby.h"

namespace doppel::testing {
namespace {

constexpr double kSession = 6;  // seconds; the least that brokers accept

Case make_case() {
  return Case(
      IndexSetup::Settings{{"kafka.takeover", "standby"},
                           {"kafka.properties.session.timeout.ms", fmt::format("{:.0f}", kSession * 1000)},
                           {"kafka.properties.transaction.timeout.ms", "2000"}});
}

class Standbys : public ::testing::Test {
 protected:
  std::unique_ptr<Daemon> stand_by() {
    auto daemon = c.setup.serve({}, c.setup.path("other-state"));
    EXPECT_TRUE(daemon->await_line("standing by")) << daemon->said();
    return daemon;
  }
  // The daemon that stood by takes the rest of the workload.
  void expect_takes_over(Daemon& daemon) {
    EXPECT_TRUE(daemon.await_line("ready", Daemon::Seconds(30))) << daemon.said();
    finish_on_other_state(daemon);
  }
  void finish_on_other_state(Daemon& daemon) {
    c.setup.set({{"state.directory", c.setup.path("other-state")}});
    c.finish(daemon);
  }

  Case c = make_case();
};

TEST_F(Standbys, OneTakesOverWhenTheOwnerIsKilled) {
  c.produce_next(200);
  const auto owner = c.start();
  const auto standby = stand_by();
  c.produce_next(100);
  c.await_all(*owner);
  EXPECT_FALSE(owner->await_exit(Daemon::Seconds(0))) << "a second daemon does no harm: " << owner->said();
  owner->kill();
  c.produce_next(100);
  expect_takes_over(*standby);
}

// Both have the same log by mistake. The topics of the first one would no longer be read.
TEST_F(Standbys, OneThatReadsOtherTopicsIsRefused) {
  c.produce_next(200);
  const auto owner = c.start();
  c.await_all(*owner);
  IndexSetup other(c.setup.bootstrap(),
                   {{"kafka.index_log", c.setup.options().kafka.index_log}, {"kafka.takeover", "standby"}});
  const auto refused = other.serve();
  EXPECT_EQ(refused->await_exit(), 2) << refused->said();
  EXPECT_NE(refused->said().find("belongs to an index that reads other topics: " + c.setup.input()),
            std::string::npos)
      << refused->said();
  c.finish(*owner);
}

// If the directory shows that it is the same index, somebody has changed kafka.topics.
TEST_F(Standbys, ATopicThatIsNotReadAnyMoreIsSaid) {
  c.produce_next(200);
  auto owner = c.start();
  c.await_all(*owner);
  Case::stop(*owner);
  const std::string input = c.setup.input();
  c.client.create_topic(input + "-2");
  c.setup.set({{"kafka.topics", "[" + input + "-2]"}});
  owner = c.setup.serve();
  EXPECT_TRUE(owner->await_line("topics that kafka.topics does not name")) << owner->said();
  EXPECT_TRUE(owner->await_line("ready")) << owner->said();
  Case::stop(*owner);
}

// The owner releases the log, so nobody waits until it counts as dead. When it comes back, the other one
// serves.
TEST_F(Standbys, OneTakesOverAtOnceWhenTheOwnerIsStopped) {
  c.produce_next(200);
  auto owner = c.start();
  const auto standby = stand_by();
  c.await_all(*owner);
  Case::stop(*owner);
  const auto stopped = std::chrono::steady_clock::now();
  ASSERT_TRUE(standby->await_line("ready", Daemon::Seconds(30))) << standby->said();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - stopped;
  RecordProperty("seconds", fmt::format("{:.2f}", took.count()));
  EXPECT_LT(took.count(), kSession / 2) << standby->said();

  owner = c.setup.serve();
  EXPECT_TRUE(owner->await_line("standing by")) << owner->said();
  c.produce_next(200);
  EXPECT_TRUE(c.setup.await_all(*standby)) << standby->said();
  Case::stop(*standby);
  EXPECT_TRUE(owner->await_line("ready", Daemon::Seconds(kSession / 2))) << owner->said();
  c.finish(*owner);
}

// One serves after a release although the coordinator has chosen the other. The one that serves is killed,
// and is back before it counts as dead: it is a member again. Both must not wait for each other.
TEST_F(Standbys, OneServesAfterTheOwnerIsBackWhileTheOtherWasChosen) {
  c.produce_next(200);
  auto first = c.start();
  auto second = stand_by();
  c.await_all(*first);
  Case::stop(*first);
  ASSERT_TRUE(second->await_line("ready", Daemon::Seconds(30))) << second->said();
  first = c.setup.serve();
  EXPECT_TRUE(first->await_line("standing by")) << first->said();
  second->kill();
  second->await_exit();
  second = c.setup.serve({}, c.setup.path("other-state"));
  EXPECT_TRUE(second->await_line("ready", Daemon::Seconds(kSession))) << second->said() << first->said();
  first->terminate();
  EXPECT_EQ(first->await_exit(), 0) << first->said();
  finish_on_other_state(*second);
}

// The coordinator knows its name, so it need not wait until its predecessor counts as dead.
TEST_F(Standbys, ARestartOnTheSameDirectoryGoesOnAtOnce) {
  c.produce_next(100);
  auto owner = c.start();
  const auto standby = stand_by();
  owner->kill();
  owner->await_exit();
  const auto start = std::chrono::steady_clock::now();
  owner = c.start();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  EXPECT_LT(took.count(), kSession) << owner->said();
  c.produce_next(300);
  c.await_all(*owner);
  standby->terminate();
  EXPECT_EQ(standby->await_exit(), 0) << standby->said();
  c.finish(*owner);
}

TEST_F(Standbys, AnOwnerThatWasStoppedForLongerIsReplacedAndEndsWith75) {
  c.produce_next(100);
  const auto owner = c.start();
  const auto standby = stand_by();
  owner->signal(SIGSTOP);
  c.produce_next(200);
  ASSERT_TRUE(standby->await_line("ready", Daemon::Seconds(30))) << standby->said();
  owner->signal(SIGCONT);
  EXPECT_EQ(owner->await_exit(), 75) << owner->said();
  c.setup.set({{"state.directory", c.setup.path("other-state")}});
  c.finish(*standby);
}

TEST_F(Standbys, AnOwnerThatWasReplacedLearnsItWithoutDocuments) {
  c.produce_next(100);
  const auto owner = c.start();
  c.await_all(*owner);
  const auto standby = stand_by();
  owner->signal(SIGSTOP);
  ASSERT_TRUE(standby->await_line("ready", Daemon::Seconds(30))) << standby->said();
  owner->signal(SIGCONT);
  EXPECT_EQ(owner->await_exit(Daemon::Seconds(30)), 75) << owner->said();
  c.setup.set({{"state.directory", c.setup.path("other-state")}});
  c.finish(*standby);
}

TEST_F(Standbys, TheFirstOfTwoMakesTheIndex) {
  const auto one = c.setup.serve();
  const auto two = c.setup.serve({}, c.setup.path("other-state"));
  c.produce_next(200);
  // Either may be first.
  bool first = false;
  bool second = false;
  for (int i = 0; i < 60 && !first && !second; ++i) {
    first = one->await_line("ready", Daemon::Seconds(1)).has_value();
    second = !first && two->await_line("ready", Daemon::Seconds(0)).has_value();
  }
  Daemon& serves = first ? *one : *two;
  Daemon& waits = first ? *two : *one;
  EXPECT_TRUE(waits.await_line("standing by")) << waits.said();
  waits.terminate();
  EXPECT_EQ(waits.await_exit(), 0) << waits.said();
  if (!first) c.setup.set({{"state.directory", c.setup.path("other-state")}});
  c.finish(serves);
}

TEST(MemberName, StaysWithItsDirectoryAndNotWithACopy) {
  const TempDir directory;
  const std::string a = directory / "a", b = directory / "b";
  std::filesystem::create_directory(a);
  const std::string name = *member_name(a);
  EXPECT_EQ(*member_name(a), name);
  std::filesystem::copy(a, b);
  EXPECT_NE(*member_name(b), name);
  std::filesystem::rename(a, a + "-moved");
  EXPECT_EQ(*member_name(a + "-moved"), name);
}

}  // namespace
}  // namespace doppel::testing
