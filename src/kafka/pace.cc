#include "kafka/pace.h"

#include <algorithm>

namespace doppel::kafka {
namespace {

// A broker averages over its last ten seconds (quota.window.num). It lets a client that was idle send as much
// as ten seconds allow, and only then delays it, by as long as the excess takes.
constexpr std::chrono::seconds kBurst(10);

}  // namespace

size_t Pace::of(size_t most) const {
  return std::max<size_t>(1, static_cast<size_t>(static_cast<double>(most) * share_));
}

// The quota allows at least proven_ in kBurst. longest_ is an eighth of the time-out.
double Pace::safe() const {
  const std::chrono::duration<double> half = 4 * longest_, burst = kBurst;
  return std::max(first_, proven_ * half.count() / burst.count());
}

void Pace::settled(size_t records, size_t bytes, Duration took, Duration throttled, Clock::time_point now) {
  if (records == 0) return;
  const double used = std::max(static_cast<double>(records) / static_cast<double>(records_),
                               static_cast<double>(bytes) / static_cast<double>(bytes_));
  if (now - since_ >= kBurst) {
    since_ = now;
    passed_ = 0;
  }
  passed_ += used;
  proven_ = std::max(proven_, passed_);
  const bool by_quota = throttled > Duration::zero();
  const Duration time = by_quota ? std::max(took, throttled) : Duration::zero();
  if (time > longest_) {
    const auto fits = static_cast<double>(longest_.count()) / static_cast<double>(time.count());
    // One slow answer may be an exception: do not shrink to a single document at once.
    share_ = std::min(share_.load(), std::min(used, 1.0) * std::max(fits, 1.0 / 16));
  } else if (time < longest_ / 2 && used >= share_ / 2) {
    share_ = std::max(share_.load(), std::min({1.0, share_ * (by_quota ? 2 : 4), safe()}));
  }
}

}  // namespace doppel::kafka
