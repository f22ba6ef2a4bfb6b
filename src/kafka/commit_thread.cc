#include "kafka/commit_thread.h"

#include <utility>

#include "base/check.h"

namespace doppel::kafka {

CommitThread::~CommitThread() {
  if (where_ == Where::in_turn && commit_) (void)finish();
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void CommitThread::begin(Commit commit) {
  {
    const std::lock_guard lock(mutex_);
    DOPPEL_CHECK(!commit_ && !result_, "one commit is under way at a time", stop_);
    commit_ = std::move(commit);
    begun_ = where_ == Where::own_thread;
  }
  if (where_ == Where::in_turn) return;
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  changed_.notify_all();
}

bool CommitThread::ends_within(std::chrono::milliseconds time) {
  if (where_ == Where::in_turn) return true;
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, time, [this] { return result_.has_value() || !commit_; });
}

absl::Status CommitThread::finish() {
  if (where_ == Where::in_turn) return std::exchange(commit_, nullptr)();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return result_.has_value(); });
  absl::Status result = *std::move(result_);
  result_.reset();
  commit_ = nullptr;
  return result;
}

bool CommitThread::under_way() {
  const std::lock_guard lock(mutex_);
  return commit_ && !result_;
}

absl::Status CommitThread::failed() {
  const std::lock_guard lock(mutex_);
  return result_.value_or(absl::OkStatus());
}

void CommitThread::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return begun_ || stop_; });
    if (!begun_) return;
    begun_ = false;
    const Commit& commit = commit_;
    lock.unlock();
    absl::Status result = commit();
    lock.lock();
    result_ = std::move(result);
    changed_.notify_all();
  }
}

}  // namespace doppel::kafka
