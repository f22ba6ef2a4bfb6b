#include "kafka/pace.h"

#include <algorithm>

namespace doppel::kafka {

size_t Pace::of(size_t most) const {
  return std::max<size_t>(1, static_cast<size_t>(static_cast<double>(most) * share_));
}

void Pace::settled(size_t records, size_t bytes, Duration took, Duration throttled) {
  if (records == 0) return;
  const double used = std::max(static_cast<double>(records) / static_cast<double>(records_),
                               static_cast<double>(bytes) / static_cast<double>(bytes_));
  const bool by_quota = throttled > Duration::zero();
  const Duration time = by_quota ? std::max(took, throttled) : Duration::zero();
  if (time > longest_) {
    const auto fits = static_cast<double>(longest_.count()) / static_cast<double>(time.count());
    // One slow answer may be an exception: do not shrink to a single document at once.
    share_ = std::min(share_.load(), std::min(used, 1.0) * std::max(fits, 1.0 / 16));
  } else if (time < longest_ / 2 && used >= share_ / 2) {
    share_ = std::min(1.0, share_ * 2);
  }
}

}  // namespace doppel::kafka
