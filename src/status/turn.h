#pragma once
// Admits one caller at a time and refuses callers that wait too long. (A std::timed_mutex would do the same,
// but TSan does not know its timed lock.)

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace doppel {

class Turn {
 public:
  // Holds the turn if it became free within `patience` (owns()).
  class Lock {
   public:
    Lock(Turn& turn, std::chrono::milliseconds patience) : turn_(turn) {
      std::unique_lock lock(turn_.mutex_);
      owns_ = turn_.free_.wait_for(lock, patience, [&] { return !turn_.taken_; });
      if (owns_) turn_.taken_ = true;
    }
    ~Lock() {
      if (!owns_) return;
      {
        const std::lock_guard lock(turn_.mutex_);
        turn_.taken_ = false;
      }
      turn_.free_.notify_one();
    }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;
    bool owns() const { return owns_; }

   private:
    Turn& turn_;
    bool owns_ = false;
  };

 private:
  std::mutex mutex_;
  std::condition_variable free_;
  bool taken_ = false;
};

}  // namespace doppel
