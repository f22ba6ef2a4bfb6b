#pragma once
// A thread that takes memory from the system before it is needed, so that nobody who is in a hurry waits for
// the first touch of a page. It begins with the first piece that it is asked for.

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

namespace doppel {

class MemoryAhead {
 public:
  MemoryAhead() = default;
  ~MemoryAhead();
  MemoryAhead(const MemoryAhead&) = delete;
  MemoryAhead& operator=(const MemoryAhead&) = delete;

  // Soon. What is there already stays as it is; what is not mapped any more is passed over. Nothing depends
  // on it: memory that was not taken is given at its first touch.
  void take(void* at, size_t bytes);
  // Returns when all that was asked for is there.
  void wait();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<char*, size_t>> pieces_;  // the first one is being taken
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace doppel
