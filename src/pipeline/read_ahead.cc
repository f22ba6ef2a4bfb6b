#include "pipeline/read_ahead.h"

#include <utility>

namespace doppel {

ReadAhead::ReadAhead(Source& source, bool in_background, Waker* waker) : source_(source), waker_(waker) {
  if (!in_background) return;
  if (waker_ != nullptr) {
    const std::lock_guard lock(waker_->mutex_);
    waker_->wake_ = [this] { wake(); };
  }
  source_.ask_before_closing([this] { return wanted_.load(); });
  thread_ = std::thread([this] { read_on(); });
}

ReadAhead::~ReadAhead() {
  if (!thread_.joinable()) return;
  if (waker_ != nullptr) {
    const std::lock_guard lock(waker_->mutex_);
    waker_->wake_ = nullptr;
  }
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wanted_ = true;
  changed_.notify_all();
  thread_.join();
}

void ReadAhead::read_on() {
  Batch batch;
  while (true) {
    absl::StatusOr<bool> result = source_.next(batch);
    bool last = !result.ok() || !*result;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return stopping_ || !ready_.has_value(); });
    if (stopping_) return;
    std::swap(batch, batch_);
    ready_ = std::move(result);
    changed_.notify_all();
    if (last) return;
  }
}

void ReadAhead::wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  changed_.notify_all();
}

bool ReadAhead::ready() {
  if (!thread_.joinable()) return true;
  std::lock_guard lock(mutex_);
  return ready_.has_value();
}

absl::StatusOr<bool> ReadAhead::next(Batch& batch) {
  if (!thread_.joinable()) return source_.next(batch);
  std::unique_lock lock(mutex_);
  wanted_ = true;
  changed_.wait(lock, [&] { return ready_.has_value() || woken_; });
  wanted_ = woken_ = false;
  if (!ready_) {
    batch.clear();
    return true;
  }
  absl::StatusOr<bool> result = *ready_;
  if (!result.ok() || !*result) return result;  // ready_ stays set: the end is final
  std::swap(batch, batch_);
  ready_.reset();
  changed_.notify_all();
  return result;
}

}  // namespace doppel
