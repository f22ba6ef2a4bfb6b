#pragma once
// Time for code whose behaviour depends on it: deadlines, pauses, ages. A simulation replaces the machine's
// clocks with its own.

#include <chrono>
#include <cstdint>

namespace doppel {

class Clock {  // meets the requirements of a <chrono> clock; monotonic
 public:
  using duration = std::chrono::steady_clock::duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::steady_clock::time_point;
  static constexpr bool is_steady = true;

  static time_point now();
  static void sleep(std::chrono::milliseconds duration);
  // Milliseconds since 1970 by the system clock, which may jump.
  static int64_t unix_ms();

  struct Source {
    virtual ~Source() = default;
    virtual time_point now() = 0;
    virtual void sleep(std::chrono::milliseconds duration) = 0;
    virtual int64_t unix_ms() = 0;
  };
  // `source` must outlive all use; nullptr restores the machine's clocks. Call it before other threads start.
  static void install(Source* source);
};

}  // namespace doppel
