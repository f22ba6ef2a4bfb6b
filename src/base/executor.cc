#include "base/executor.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "base/check.h"

namespace doppel {

int all_if_zero(int threads) {
  return threads > 0 ? threads : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

struct Executor::State {
  std::mutex mutex;
  std::condition_variable work_came, part_done;
  std::deque<Job*> jobs;  // with parts that no thread has taken yet
  bool stopping = false;
  std::vector<std::thread> workers;

  // Takes one part of `job` and does it without the mutex.
  void do_one(std::unique_lock<std::mutex>& lock, Job& job, int worker) {
    size_t begin = job.next;
    size_t end = std::min(job.count, begin + job.grain);
    DOPPEL_CHECK(begin < end, "a part that a worker takes is not empty", begin, end, job.count);
    job.next = end;
    if (end == job.count) std::erase(jobs, &job);
    ++job.running;
    lock.unlock();
    job.do_part(worker, begin, end);
    lock.lock();
    DOPPEL_CHECK(job.running > 0, "a job counts those who work on it", job.running, job.next, job.count);
    if (--job.running == 0 && job.next == job.count) part_done.notify_all();
  }

  void work(int worker) {
    std::unique_lock lock(mutex);
    while (true) {
      work_came.wait(lock, [&] { return stopping || !jobs.empty(); });
      if (stopping) return;
      do_one(lock, *jobs.front(), worker);
    }
  }
};

Executor::Executor(int threads) : threads_(std::max(1, threads)), state_(new State) {
  for (int worker = 1; worker < threads_; ++worker) {
    state_->workers.emplace_back([this, worker] { state_->work(worker); });
  }
}

Executor::~Executor() {
  {
    std::lock_guard lock(state_->mutex);
    state_->stopping = true;
  }
  state_->work_came.notify_all();
  for (std::thread& worker : state_->workers) worker.join();
}

void Executor::start(Job& job, size_t count, size_t grain, Job::Part do_part) {
  begin(job, count, grain, std::move(do_part), false);
}

void Executor::begin(Job& job, size_t count, size_t grain, Job::Part do_part, bool first) {
  job.do_part = std::move(do_part);
  job.count = count;
  job.grain = std::max<size_t>(1, grain);
  job.next = job.running = 0;
  if (count == 0) return;
  {
    std::lock_guard lock(state_->mutex);
    state_->jobs.insert(first ? state_->jobs.begin() : state_->jobs.end(), &job);
  }
  state_->work_came.notify_all();
}

void Executor::wait(Job& job) {
  std::unique_lock lock(state_->mutex);
  while (job.next < job.count) state_->do_one(lock, job, 0);
  state_->part_done.wait(lock, [&] { return job.running == 0; });
}

void Executor::run(size_t count, size_t grain, Job::Part do_part) {
  Job job;
  begin(job, count, grain, std::move(do_part), true);
  wait(job);
}

absl::Status Executor::try_run(size_t count, size_t grain, const TryPart& do_part) {
  std::mutex mutex;
  absl::Status first;
  run(count, grain, [&](int worker, size_t begin, size_t end) {
    const absl::Status status = do_part(worker, begin, end);
    const std::lock_guard lock(mutex);
    if (first.ok()) first = status;
  });
  return first;
}

}  // namespace doppel
