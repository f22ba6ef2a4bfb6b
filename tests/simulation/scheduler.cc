#include "simulation/scheduler.h"

#include <algorithm>
#include <limits>

namespace doppel::simulation {

int Scheduler::spawn(std::function<void()> body) {
  const int id = static_cast<int>(tasks_.size());
  tasks_.push_back(std::make_unique<Task>());
  Task& task = *tasks_.back();
  task.wakes_us = now_us_;
  task.thread = std::thread([this, &task, body = std::move(body)] {
    task.turn.acquire();
    body();
    task.ended = true;
    hand_over();
  });
  task.thread.detach();
  return id;
}

// A call takes a moment.
void Scheduler::step() {
  now_us_ += 50 + static_cast<int64_t>(below(200));
  hand_over();
}

void Scheduler::sleep(std::chrono::milliseconds duration) {
  tasks_[current_]->wakes_us = now_us_ + std::max<int64_t>(duration.count(), 0) * 1000;
  hand_over();
}

// Chooses one of the tasks that are awake; if all sleep, the next one wakes.
void Scheduler::hand_over() {
  Task& self = *tasks_[current_];
  int64_t first = std::numeric_limits<int64_t>::max();
  for (const auto& task : tasks_)
    if (!task->ended && !task->killed) first = std::min(first, task->wakes_us);
  now_us_ = std::max(now_us_, first);
  std::vector<int> awake;
  for (size_t i = 0; i < tasks_.size(); ++i) {
    const Task& task = *tasks_[i];
    if (!task.ended && !task.killed && task.wakes_us <= now_us_) awake.push_back(static_cast<int>(i));
  }
  const int next = awake[awake.size() == 1 ? 0 : below(awake.size())];
  if (next == current_) return;
  current_ = next;
  tasks_[next]->turn.release();
  if (!self.ended) self.turn.acquire();
}

}  // namespace doppel::simulation
