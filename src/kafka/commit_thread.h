#pragma once
// Runs one commit at a time beside the pipeline, on one thread for all of them.

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "absl/status/status.h"

namespace doppel::kafka {

class CommitThread {
 public:
  using Commit = std::function<absl::Status()>;
  enum class Where {
    beside,   // on the thread
    in_turn,  // in finish(), for tests that decide the order of everything
  };
  explicit CommitThread(Where where) : where_(where) {}
  ~CommitThread();  // waits for the commit under way
  CommitThread(const CommitThread&) = delete;
  CommitThread& operator=(const CommitThread&) = delete;

  // None may be under way.
  void begin(Commit commit);
  // Whether the commit ends within this time.
  bool ends_within(std::chrono::milliseconds time);
  // Waits for the commit.
  absl::Status finish();
  // Whether a commit is under way, and with what it failed that has ended and is not finished yet.
  bool under_way();
  absl::Status failed();

 private:
  void run();

  const Where where_;
  std::mutex mutex_;  // guards all below, but not where commits run in turn
  std::condition_variable changed_;
  Commit commit_;  // empty: none is under way
  bool begun_ = false;
  std::optional<absl::Status> result_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace doppel::kafka
