#pragma once
// Runs questions on the pipeline's thread, the only one that may read the index. Other threads leave their
// questions here and wait; the pipeline's thread answers between batches.

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

namespace doppel {

class Mailbox {
 public:
  // `bell` is an eventfd (not owned) that each question rings, so that a source that waits for input lets the
  // pipeline's thread answer; -1: none.
  explicit Mailbox(int bell = -1) : bell_(bell) {}

  // Any thread except the pipeline's may call it. Returns true once `question` has run on the pipeline's
  // thread. Returns false if it did not begin within the time, if too many others wait, or after close();
  // then it never runs. What `question` refers to need only live until this returns.
  bool ask(const std::function<void()>& question, std::chrono::milliseconds time_out);

  // The pipeline's thread calls it between batches. Runs waiting questions for a few milliseconds, at least
  // one.
  void answer();
  // After this no question runs; those that wait return false.
  void close();

 private:
  enum class State { waiting, running, done, dropped };
  struct Letter {
    const std::function<void()>* question = nullptr;
    State state = State::waiting;
  };

  const int bell_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Letter>> waiting_;
  bool closed_ = false;
};

}  // namespace doppel
