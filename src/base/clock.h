#pragma once
// Time, for code whose behaviour depends on it: deadlines, pauses, ages. A simulation puts its own in place
// of the machine's clocks.

#include <chrono>
#include <cstdint>

namespace doppel {

class Clock {  // a clock in the sense of <chrono>, that only goes forward
 public:
  using duration = std::chrono::steady_clock::duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::steady_clock::time_point;
  static constexpr bool is_steady = true;

  static time_point now();
  static void sleep(std::chrono::milliseconds duration);
  // Milliseconds since 1970, by the machine's calendar: it may jump.
  static int64_t unix_ms();

  struct Source {
    virtual ~Source() = default;
    virtual time_point now() = 0;
    virtual void sleep(std::chrono::milliseconds duration) = 0;
    virtual int64_t unix_ms() = 0;
  };
  // `source` outlives all use; nullptr: the machine's clocks. Call it before other threads begin.
  static void install(Source* source);
};

}  // namespace doppel
