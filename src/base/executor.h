#pragma once
// Worker threads that process a range in parts. With one thread there are no workers: the caller does
// everything, in order.

#include <cstddef>
#include <functional>
#include <memory>

#include "absl/status/status.h"

namespace doppel {

// Returns the number of threads that a user asked for; 0 means one for each processor.
int all_if_zero(int threads);

class Executor {
 public:
  // threads: how many work in parallel, including the caller of wait().
  explicit Executor(int threads);
  ~Executor();
  int threads() const { return threads_; }

  // A range of `count` items. Threads call do_part(worker, begin, end) for parts of `grain` items. worker <
  // threads() identifies the thread, so that each can have its own tools.
  class Job {
   public:
    using Part = std::function<void(int worker, size_t begin, size_t end)>;

   private:
    friend class Executor;
    Part do_part;
    size_t count = 0, grain = 1;
    size_t next = 0, running = 0;  // guarded by the executor's mutex
  };

  // Workers begin at once, and the caller continues. The job and all that its parts use must live until
  // wait() returns.
  void start(Job& job, size_t count, size_t grain, Job::Part do_part);
  // Helps with the job, and returns when it is done.
  void wait(Job& job);
  // start() and wait(), ahead of all other jobs.
  void run(size_t count, size_t grain, Job::Part do_part);
  // run() for parts that may fail: does all of them, and returns the error of one.
  using TryPart = std::function<absl::Status(int worker, size_t begin, size_t end)>;
  absl::Status try_run(size_t count, size_t grain, const TryPart& do_part);

 private:
  struct State;
  void begin(Job& job, size_t count, size_t grain, Job::Part do_part, bool first);

  int threads_;
  std::unique_ptr<State> state_;
};

}  // namespace doppel
