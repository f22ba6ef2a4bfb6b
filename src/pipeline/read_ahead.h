#pragma once
// Reads the next batch while the last one is worked on. Only what is full is closed early: a batch that would
// have to wait goes on growing, so a slow commit is followed by a larger batch and not by a queue of small
// ones.

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "pipeline/stream.h"

namespace doppel {

class ReadAhead {
 public:
  // Without `in_background` there is no thread and next() reads. `source` outlives the reader.
  ReadAhead(Source& source, bool in_background);
  ~ReadAhead();

  // As Source::next().
  absl::StatusOr<bool> next(Batch& batch);
  // next() would not wait for others (without a background: it always reads).
  bool ready();

 private:
  void read_on();

  Source& source_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<absl::StatusOr<bool>> ready_;  // the result for batch_, not yet taken
  Batch batch_;
  std::atomic<bool> wanted_ = false;  // next() waits, or nobody will ask any more
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace doppel
