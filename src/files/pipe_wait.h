#pragma once
// How long a reader waits for a pipe. A batch with something in it does not wait long to be filled; an empty
// one waits until the run is stopped.

#include <chrono>

#include "files/options.h"

namespace doppel {

class PipeWait {
 public:
  PipeWait(const FilesSourceOptions& options, int fd) : options_(options), fd_(fd) {}

  void begin() { patient_ = false; }  // of a batch
  enum class Answer { read, deliver, stopped };
  // read: there is something, or the end.
  Answer ask(bool batch_empty);

 private:
  const FilesSourceOptions& options_;
  int fd_;
  std::chrono::steady_clock::time_point patience_;  // until then a batch stays open
  bool patient_ = false;
};

}  // namespace doppel
