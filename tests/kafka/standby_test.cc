// Several daemons for one index: one serves, the others follow its log and wait.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "kafka/case.h"
#include "serve/standby.h"

namespace doppel::testing {
namespace {

constexpr double kSession = 6;  // seconds; the least that brokers take

Case make_case() {
  return Case(IndexSetup::Settings{{"kafka.takeover", "standby"},
                                   {"kafka.session_timeout", fmt::format("{}s", kSession)},
                                   {"kafka.transaction_timeout", "2s"}});
}

class Standbys : public ::testing::Test {
 protected:
  std::unique_ptr<Daemon> stand_by() {
    auto daemon = c.setup.serve({}, c.setup.path("other-state"));
    EXPECT_TRUE(daemon->await_line("standing by")) << daemon->said();
    return daemon;
  }
  // The rest of the workload by the one that stood by.
  void expect_takes_over(Daemon& daemon) {
    EXPECT_TRUE(daemon.await_line("ready", Daemon::Seconds(30))) << daemon.said();
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

// Its name is known to the coordinator: it need not wait until its predecessor counts as dead.
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
