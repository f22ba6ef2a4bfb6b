#pragma once
// A few worker threads that take parts of a range. With one thread there are no workers at all: the
// caller does everything, in order.

#include <cstddef>
#include <functional>
#include <memory>

namespace doppel {

// A number of threads as users give it: 0 becomes the number of processors.
int all_if_zero(int threads);

class Executor {
 public:
  // threads: how many work at the same time, the caller of wait() included.
  explicit Executor(int threads);
  ~Executor();
  int threads() const { return threads_; }

  // A range of `count` items, worked on in parts of `grain` by do_part(worker, begin, end); worker <
  // threads() says which thread it is, so that each can have its own tools.
  class Job {
   public:
    using Part = std::function<void(int worker, size_t begin, size_t end)>;

   private:
    friend class Executor;
    Part do_part;
    size_t count = 0, grain = 1;
    size_t next = 0, running = 0;  // guarded by the executor's mutex
  };

  // Workers begin at once; the caller goes on. The job and what its parts use must live until wait() returns.
  void start(Job& job, size_t count, size_t grain, Job::Part do_part);
  // Helps with the job and returns when all of it is done.
  void wait(Job& job);
  // Both at once, ahead of other jobs.
  void run(size_t count, size_t grain, Job::Part do_part);

 private:
  struct State;
  void begin(Job& job, size_t count, size_t grain, Job::Part do_part, bool first);

  int threads_;
  std::unique_ptr<State> state_;
};

}  // namespace doppel
