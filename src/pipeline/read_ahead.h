#pragma once
// Reads the next batch in the background. A batch is closed early only if it is full; while nobody asks for
// it, it grows. So a slow commit leads to one larger batch, not to a queue of small ones.

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "pipeline/stream.h"

namespace doppel {

class ReadAhead {
 public:
  // Without `in_background` there is no thread, and next() reads. `source` must outlive the reader.
  ReadAhead(Source& source, bool in_background);
  ~ReadAhead();

  // See Source::next().
  absl::StatusOr<bool> next(Batch& batch);
  // Whether next() would return without waiting. Always true without a background thread, where next()
  // reads.
  bool ready();

 private:
  void read_on();

  Source& source_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<absl::StatusOr<bool>> ready_;  // the result for batch_, which next() has not taken
  Batch batch_;
  std::atomic<bool> wanted_ = false;  // next() waits, or will never be called again
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace doppel
