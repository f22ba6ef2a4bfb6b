#pragma once
// How long a reader waits for a pipe. A batch with records waits only briefly for more; an empty one waits
// until the run is stopped.

#include <chrono>

#include "files/options.h"

namespace doppel {

class PipeWait {
 public:
  PipeWait(const FilesSourceOptions& options, int fd) : options_(options), fd_(fd) {}

  void begin() { patient_ = false; }  // starts a new batch
  enum class Answer { read, deliver, stopped };
  // read: the pipe has data or has ended.
  Answer ask(bool batch_empty);

 private:
  const FilesSourceOptions& options_;
  int fd_;
  std::chrono::steady_clock::time_point patience_;  // when a batch with records is delivered
  bool patient_ = false;
};

}  // namespace doppel
