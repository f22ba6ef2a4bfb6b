#include "engine/memory_ahead.h"

#include <sys/mman.h>

#include <algorithm>

namespace doppel {

MemoryAhead::~MemoryAhead() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void MemoryAhead::take(void* at, size_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    pieces_.emplace_back(static_cast<char*>(at), bytes);
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  }
  changed_.notify_all();
}

void MemoryAhead::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return pieces_.empty(); });
}

void MemoryAhead::run() {
  constexpr size_t kPiece = size_t{2} << 20;  // another thread may change the mapping between two calls
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stop_ || !pieces_.empty(); });
    if (stop_) return;
    const auto [at, bytes] = pieces_.front();
    lock.unlock();
#ifdef MADV_POPULATE_WRITE
    for (size_t done = 0; done < bytes; done += kPiece)
      (void)madvise(at + done, std::min(kPiece, bytes - done), MADV_POPULATE_WRITE);
#endif
    lock.lock();
    pieces_.pop_front();
    if (pieces_.empty()) changed_.notify_all();
  }
}

}  // namespace doppel
