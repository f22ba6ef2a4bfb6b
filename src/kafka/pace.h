#pragma once
// Chooses the size of batches, so that a transaction ends in time even if broker quotas throttle it. The
// first batches are small; the size doubles while transactions are fast. One thread calls settled(), any
// thread the rest.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>

namespace doppel::kafka {

class Pace {
 public:
  using Duration = std::chrono::steady_clock::duration;
  // `records` and `bytes` of the largest batch; `longest` is how long a transaction should take at most.
  Pace(size_t records, size_t bytes, Duration longest)
      : records_(records),
        bytes_(bytes),
        longest_(longest),
        share_(std::min(1.0, kFirst / static_cast<double>(records))) {}

  // At least one.
  size_t records() const { return of(records_); }
  size_t bytes() const { return of(bytes_); }

  // A transaction with a batch of this size was committed. `took`: how long that took. `throttled`: for how
  // long quotas have delayed it, or delay the next one.
  void settled(size_t records, size_t bytes, Duration took, Duration throttled);

 private:
  size_t of(size_t most) const;

  const size_t records_, bytes_;
  const Duration longest_;
  static constexpr double kFirst = 64;  // records of the first batch
  std::atomic<double> share_;           // of the largest batch
};

}  // namespace doppel::kafka
