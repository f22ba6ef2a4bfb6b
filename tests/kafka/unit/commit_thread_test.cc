#include "kafka/commit_thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

namespace doppel::kafka {
namespace {

using std::chrono::milliseconds;

TEST(CommitThread, RunsCommitsOnOneThread) {
  CommitThread commits(CommitThread::Where::own_thread);
  std::thread::id first;
  for (int i = 0; i < 100; ++i) {
    std::thread::id here;
    commits.begin([&, i] {
      here = std::this_thread::get_id();
      return i % 2 == 0 ? absl::OkStatus() : absl::AbortedError("odd");
    });
    EXPECT_EQ(commits.finish().ok(), i % 2 == 0);
    EXPECT_NE(here, std::this_thread::get_id());
    if (i == 0) first = here;
    EXPECT_EQ(here, first);
  }
}

TEST(CommitThread, SaysWhetherACommitEndsInTime) {
  CommitThread commits(CommitThread::Where::own_thread);
  EXPECT_TRUE(commits.ends_within(milliseconds(0)));
  std::promise<void> go;
  commits.begin([&] {
    go.get_future().wait();
    return absl::OkStatus();
  });
  EXPECT_FALSE(commits.ends_within(milliseconds(1)));
  go.set_value();
  EXPECT_TRUE(commits.ends_within(std::chrono::minutes(1)));
  EXPECT_TRUE(commits.finish().ok());
}

TEST(CommitThread, ItsEndWaitsForTheCommitUnderWay) {
  for (const auto where : {CommitThread::Where::own_thread, CommitThread::Where::in_turn}) {
    std::atomic<bool> done = false;
    {
      CommitThread commits(where);
      commits.begin([&] {
        std::this_thread::sleep_for(milliseconds(20));
        done = true;
        return absl::OkStatus();
      });
    }
    EXPECT_TRUE(done);
  }
}

TEST(CommitThread, InTurnRunsWhereItIsWaitedFor) {
  CommitThread commits(CommitThread::Where::in_turn);
  std::thread::id here;
  commits.begin([&] {
    here = std::this_thread::get_id();
    return absl::OkStatus();
  });
  EXPECT_EQ(here, std::thread::id());
  EXPECT_TRUE(commits.ends_within(milliseconds(0)));
  EXPECT_TRUE(commits.finish().ok());
  EXPECT_EQ(here, std::this_thread::get_id());
}

}  // namespace
}  // namespace doppel::kafka
