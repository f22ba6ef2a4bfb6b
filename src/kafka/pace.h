#pragma once
// Chooses the size of batches, so that a transaction ends in time even if broker quotas throttle it. The
// first batches are small; the size grows while transactions are fast, by at most as much as the broker has
// shown to let pass. One thread calls settled(), any thread the rest.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>

#include "base/clock.h"

namespace doppel::kafka {

class Pace {
 public:
  using Duration = Clock::duration;
  // `records` and `bytes` of the largest batch; `longest` is how long a transaction should take at most.
  Pace(size_t records, size_t bytes, Duration longest)
      : records_(records),
        bytes_(bytes),
        longest_(longest),
        first_(std::min(1.0, kFirst / static_cast<double>(records))),
        share_(first_) {}

  // At least one.
  size_t records() const { return of(records_); }
  size_t bytes() const { return of(bytes_); }

  // A transaction with a batch of this size was committed at `now`. `took`: how long that took. `throttled`:
  // for how long quotas have delayed it, or delay the next one.
  void settled(size_t records, size_t bytes, Duration took, Duration throttled, Clock::time_point now);

 private:
  size_t of(size_t most) const;
  double safe() const;  // the share whose transaction ends in half of its time-out, whatever the quota is

  const size_t records_, bytes_;
  const Duration longest_;
  static constexpr double kFirst = 64;  // records of the first batch
  const double first_;                  // the next four: shares of the largest batch
  double passed_ = 0;                   // committed since since_
  double proven_ = 0;                   // the most that was committed within one burst
  std::atomic<double> share_;
  Clock::time_point since_{};
};

}  // namespace doppel::kafka
