#pragma once
// Runs questions on the pipeline's thread, the only one that may read the index. Other threads leave their
// questions here and wait; the pipeline's thread answers between batches.

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

namespace doppel {

class Mailbox {
 public:
  // `ring` is called after each question, so that the pipeline's thread comes to answer; empty: it comes now
  // and then.
  explicit Mailbox(std::function<void()> ring = nullptr) : ring_(std::move(ring)) {}

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

  const std::function<void()> ring_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Letter>> waiting_;
  bool closed_ = false;
};

// Admits one caller at a time and refuses callers that wait too long. (A std::timed_mutex would do the same,
// but TSan does not know its timed lock.)
class OneAtATime {
 public:
  // Holds the turn if it became free within `patience` (owns()).
  class Lock {
   public:
    Lock(OneAtATime& one_at_a_time, std::chrono::milliseconds patience) : one_at_a_time_(one_at_a_time) {
      std::unique_lock lock(one_at_a_time_.mutex_);
      owns_ = one_at_a_time_.free_.wait_for(lock, patience, [&] { return !one_at_a_time_.taken_; });
      if (owns_) one_at_a_time_.taken_ = true;
    }
    ~Lock() {
      if (!owns_) return;
      {
        const std::lock_guard lock(one_at_a_time_.mutex_);
        one_at_a_time_.taken_ = false;
      }
      one_at_a_time_.free_.notify_one();
    }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;
    bool owns() const { return owns_; }

   private:
    OneAtATime& one_at_a_time_;
    bool owns_ = false;
  };

 private:
  std::mutex mutex_;
  std::condition_variable free_;
  bool taken_ = false;
};

}  // namespace doppel
