#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "base/status.h"
#include "state/page_readers.h"
#include "state/segment_file.h"

namespace doppel {
namespace {

absl::Status read_one(const PageRead& read) {
  return static_cast<const SegmentFile*>(read.source)->read_page_at(read.offset, read.out);
}

class ThreadedPageReader final : public PageReader {
 public:
  explicit ThreadedPageReader(int threads) {
    for (int t = 0; t < threads; ++t) threads_.emplace_back([this] { work(); });
  }
  ~ThreadedPageReader() override {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  absl::Status read(std::span<const PageRead> reads) const override {
    if (reads.size() <= 1) return reads.empty() ? absl::OkStatus() : read_one(reads.front());
    Job job{.reads = reads, .status = {}};
    {
      const std::lock_guard lock(mutex_);
      jobs_.push_back(&job);
    }
    changed_.notify_all();
    std::unique_lock lock(mutex_);
    while (job.next < reads.size()) do_one(job, lock);
    done_.wait(lock, [&] { return job.done == reads.size(); });
    return job.status;
  }

 private:
  struct Job {
    std::span<const PageRead> reads;
    size_t next = 0, done = 0;
    absl::Status status;
  };

  // Takes the next read of a job. `lock` is held before and after.
  void do_one(Job& job, std::unique_lock<std::mutex>& lock) const {
    const PageRead& read = job.reads[job.next++];
    if (job.next == job.reads.size()) std::erase(jobs_, &job);
    lock.unlock();
    absl::Status status = read_one(read);
    lock.lock();
    if (!status.ok() && job.status.ok()) job.status = std::move(status);
    if (++job.done == job.reads.size()) done_.notify_all();
  }

  void work() const {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return ending_ || !jobs_.empty(); });
      if (ending_) return;
      do_one(*jobs_.front(), lock);
    }
  }

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_, done_;
  mutable std::deque<Job*> jobs_;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace

std::unique_ptr<PageReader> threaded_page_reader(int threads) {
  return std::make_unique<ThreadedPageReader>(threads);
}

}  // namespace doppel
