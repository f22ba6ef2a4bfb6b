#include "daemon/signals.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <condition_variable>
#include <csignal>
#include <mutex>

namespace doppel {
namespace {

using std::chrono::milliseconds;

TEST(Signals, FirstOneAsksForTheEnd) {
  for (const int signal : {SIGTERM, SIGINT}) {
    Signals signals({});
    EXPECT_FALSE(signals.stop());
    ::kill(::getpid(), signal);
    while (!signals.stop()) ::sched_yield();
  }
}

TEST(Signals, ReloadIsNoEnd) {
  std::mutex mutex;
  std::condition_variable changed;
  int reloads = 0;
  Signals signals({.reload = [&] {
    std::lock_guard lock(mutex);
    ++reloads;
    changed.notify_all();
  }});
  for (int i = 1; i <= 2; ++i) {
    ::kill(::getpid(), SIGHUP);
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return reloads == i; });
  }
  EXPECT_FALSE(signals.stop());
}

TEST(Signals, NothingIsLeftBehind) {
  {
    Signals signals({});
    signals.ends(3);
  }
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  EXPECT_FALSE(sigismember(&blocked, SIGTERM));
}

class SignalsDeathTest : public testing::Test {
 protected:
  void SetUp() override { testing::FLAGS_gtest_death_test_style = "threadsafe"; }
};

TEST_F(SignalsDeathTest, AnEndThatHangsIsCutShort) {
  EXPECT_EXIT(
      {
        Signals signals({.shutdown_timeout = milliseconds(50), .timeout_code = 3});
        ::kill(::getpid(), SIGTERM);
        for (;;) ::pause();
      },
      testing::ExitedWithCode(3), "longer than shutdown_timeout");
  EXPECT_EXIT(
      {
        Signals signals({.shutdown_timeout = milliseconds(50), .timeout_code = 3});
        signals.ends(4);  // an error, and then something hangs
        for (;;) ::pause();
      },
      testing::ExitedWithCode(4), "longer than shutdown_timeout");
}

TEST_F(SignalsDeathTest, ASecondSignalEndsAtOnce) {
  EXPECT_EXIT(
      {
        Signals signals({.second_code = 130});
        ::kill(::getpid(), SIGINT);
        while (!signals.stop()) ::sched_yield();
        ::kill(::getpid(), SIGTERM);
        for (;;) ::pause();
      },
      testing::ExitedWithCode(130), "a second signal");
}

}  // namespace
}  // namespace doppel
