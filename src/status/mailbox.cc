#include "status/mailbox.h"

#include <algorithm>

namespace doppel {
namespace {

constexpr size_t kWaitingMost = 64;
constexpr auto kPause = std::chrono::milliseconds(5);

}  // namespace

bool Mailbox::ask(const std::function<void()>& question, std::chrono::milliseconds time_out) {
  const auto letter = std::make_shared<Letter>();
  letter->question = &question;
  std::unique_lock lock(mutex_);
  if (closed_ || waiting_.size() >= kWaitingMost) return false;
  waiting_.push_back(letter);
  if (ring_) {
    lock.unlock();
    ring_();
    lock.lock();
  }
  changed_.wait_for(lock, time_out, [&] { return letter->state != State::waiting; });
  if (letter->state == State::waiting) {
    std::erase(waiting_, letter);
    return false;
  }
  changed_.wait(lock, [&] { return letter->state != State::running; });
  return letter->state == State::done;
}

void Mailbox::answer() {
  const auto end = std::chrono::steady_clock::now() + kPause;
  std::unique_lock lock(mutex_);
  while (!waiting_.empty()) {
    const std::shared_ptr<Letter> letter = std::move(waiting_.front());
    waiting_.pop_front();
    letter->state = State::running;
    lock.unlock();
    (*letter->question)();
    lock.lock();
    letter->state = State::done;
    changed_.notify_all();
    if (std::chrono::steady_clock::now() >= end) return;
  }
}

void Mailbox::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  for (const auto& letter : waiting_) letter->state = State::dropped;
  waiting_.clear();
  changed_.notify_all();
}

}  // namespace doppel
