#pragma once
// Threads that take turns in virtual time: one runs while all others wait, and a seed decides which one is
// next. The same seed gives the same run.

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <semaphore>
#include <thread>
#include <vector>

#include "base/clock.h"

namespace doppel::simulation {

using Random = std::mt19937_64;

class Scheduler final : public Clock::Source {
 public:
  // The caller is the first task. One scheduler per process, because killed tasks wait in it forever.
  explicit Scheduler(uint64_t seed) : random_(seed) { tasks_.push_back(std::make_unique<Task>()); }

  // The body begins when the task is scheduled.
  int spawn(std::function<void()> body);
  // Call it on a task's thread: others may run now. Does not return in a task that was killed.
  void step();
  // The task never runs again; its thread is left behind.
  void kill(int task) { tasks_[task]->killed = true; }
  bool ended(int task) const { return tasks_[task]->ended || tasks_[task]->killed; }
  int current() const { return current_; }

  // The seed chooses.
  uint64_t below(uint64_t n) { return random_() % n; }
  bool chance(double share) { return static_cast<double>(random_() >> 11) * 0x1p-53 < share; }

  // Clock::Source
  Clock::time_point now() override { return Clock::time_point(std::chrono::microseconds(now_us_)); }
  void sleep(std::chrono::milliseconds duration) override;
  int64_t unix_ms() override { return 1'700'000'000'000 + now_us_ / 1000; }

 private:
  struct Task {
    std::thread thread;
    std::binary_semaphore turn{0};
    int64_t wakes_us = 0;
    bool ended = false, killed = false;
  };
  void hand_over();

  std::vector<std::unique_ptr<Task>> tasks_;
  int current_ = 0;
  int64_t now_us_ = 1'000'000'000;
  Random random_;
};

}  // namespace doppel::simulation
