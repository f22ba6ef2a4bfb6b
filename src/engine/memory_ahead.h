#pragma once
// A thread that takes memory from the system before it is needed, so that no urgent work waits for the first
// touch of a page. It starts with the first request.

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

  // Requests memory; it is taken soon. Memory that is present stays unchanged, and unmapped memory is
  // skipped. Nothing depends on it: other memory is provided at its first touch.
  void take(void* at, size_t bytes);
  // Returns when all requested memory is present.
  void wait();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<char*, size_t>> pieces_;  // the first one is being processed
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace doppel
