#pragma once
// Runs one commit at a time in parallel with the pipeline. All commits run on the same thread. One thread may
// call these functions.

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
    own_thread,  // on the commit thread
    in_turn,     // in finish(), on the caller's thread, for tests that control the order of all steps
  };
  explicit CommitThread(Where where) : where_(where) {}
  ~CommitThread();  // waits for the running commit
  CommitThread(const CommitThread&) = delete;
  CommitThread& operator=(const CommitThread&) = delete;

  // The previous commit must have been collected by finish().
  void begin(Commit commit);
  // Waits up to `time` for the commit. Returns whether it has ended.
  bool ends_within(std::chrono::milliseconds time);
  // Waits for the commit and returns its result. A commit must have begun.
  absl::Status finish();
  // Whether a commit is running.
  bool under_way();
  // The result of a commit that has ended but was not collected by finish(); otherwise OK.
  absl::Status failed();

 private:
  void run();

  const Where where_;
  std::mutex mutex_;  // guards all members below; not needed if commits run in turn
  std::condition_variable changed_;
  Commit commit_;  // empty: no commit has begun, or finish() has collected it
  bool begun_ = false;
  std::optional<absl::Status> result_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace doppel::kafka
