#pragma once
// Reads the next batch in the background. A batch is closed early only if it is full; while nobody asks for
// it, it grows. So a slow commit leads to one larger batch, not to a queue of small ones.

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "pipeline/stream.h"

namespace doppel {

// Ends the wait of a pipeline for its next batch, so that it looks at what others want of it. The source does
// not notice, and continues. It outlives the pipeline.
class Waker {
 public:
  // Any thread. A ring while the pipeline is busy ends its next wait.
  void ring() {
    const std::lock_guard lock(mutex_);
    if (wake_) wake_();
  }

 private:
  friend class ReadAhead;
  std::mutex mutex_;
  std::function<void()> wake_;  // empty: no pipeline waits in this way
};

class ReadAhead {
 public:
  // Without `in_background` there is no thread, next() reads, and nothing wakes it. `source` must outlive the
  // reader. `waker` may be null.
  ReadAhead(Source& source, bool in_background, Waker* waker = nullptr);
  ~ReadAhead();

  // See Source::next(). After a ring the batch is empty.
  absl::StatusOr<bool> next(Batch& batch);
  // Whether next() would return without waiting. Always true without a background thread, where next()
  // reads.
  bool ready();

 private:
  void read_on();
  void wake();

  Source& source_;
  Waker* const waker_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<absl::StatusOr<bool>> ready_;  // the result for batch_, which next() has not taken
  Batch batch_;
  std::atomic<bool> wanted_ = false;  // next() waits, or will never be called again
  bool stopping_ = false, woken_ = false;
  std::thread thread_;
};

}  // namespace doppel
