#pragma once
// Questions to the thread of the pipeline, the only one that may look at the index: others leave them here
// and wait, it answers between batches.

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

namespace doppel {

class Mailbox {
 public:
  // Any thread but the pipeline's. Returns true once `question` has run there; false if it did not begin
  // within the time, if too many others wait, or after close(): then it will not run any more. What it refers
  // to must live until this returns, no longer.
  bool ask(const std::function<void()>& question, std::chrono::milliseconds time_out);

  // The pipeline's thread, between batches: answers what waits, for a few milliseconds at most (and always
  // one).
  void answer();
  // Nobody is answered any more.
  void close();

 private:
  enum class State { waiting, running, done, dropped };
  struct Letter {
    const std::function<void()>* question = nullptr;
    State state = State::waiting;
  };

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Letter>> waiting_;
  bool closed_ = false;
};

}  // namespace doppel
