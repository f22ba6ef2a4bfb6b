#include "engine/expiry.h"

#include <algorithm>
#include <functional>

#include "base/bytes.h"
#include "base/check.h"
#include "base/status.h"

namespace doppel {

Expiry::Expiry(const Rule& rule)
    : expire_after_ms_(rule.expire_after_ms), generation_size_(rule.generation), rank_(rule.watermark_rank) {}

Seq Expiry::observe(int64_t timestamp_ms) {
  if (expire_after_ms_ == 0) return lowest_live_;
  if (timestamp_ms != kNoTime && (largest_.size() < rank_ || timestamp_ms > largest_.front())) {
    if (largest_.size() == rank_) {
      std::pop_heap(largest_.begin(), largest_.end(), std::greater<>());
      largest_.pop_back();
    }
    DOPPEL_CHECK(largest_.size() < rank_, "expiry keeps a bounded number of times", largest_.size(), rank_);
    largest_.push_back(timestamp_ms);
    std::push_heap(largest_.begin(), largest_.end(), std::greater<>());
  }
  // The last generation is still growing and never expires before it is full.
  while (generations_.size() > 1 && too_old(generations_.front().youngest_ms)) {
    lowest_live_ = std::max(lowest_live_, first_of(generations_.front().number + 1));
    generations_.pop_front();
  }
  return lowest_live_;
}

bool Expiry::too_old(int64_t trusted_ms) const {
  if (expire_after_ms_ == 0 || largest_.size() != rank_) return false;
  int64_t least = 0;  // the oldest time that has not expired
  return !__builtin_sub_overflow(largest_.front(), expire_after_ms_, &least) && trusted_ms < least;
}

int64_t Expiry::trusted(int64_t timestamp_ms) const {
  if (timestamp_ms == kNoTime || largest_.size() < rank_) return kNoTime;
  return std::min(timestamp_ms, largest_.front());
}

void Expiry::added(Seq seq, int64_t trusted_ms) {
  if (expire_after_ms_ == 0 || seq < lowest_live_) return;
  const uint64_t number = generation_of(seq);
  DOPPEL_CHECK(generations_.empty() || generations_.back().number <= number, "generations ascend", seq,
               number, generations_.back().number);
  if (generations_.empty() || generations_.back().number != number) {
    if (!restoring_ && !generations_.empty() && generations_.back().youngest_ms == kNoTime) {
      generations_.pop_back();
    }
    generations_.push_back({.number = number});
  }
  generations_.back().youngest_ms = std::max(generations_.back().youngest_ms, trusted_ms);
}

void Expiry::evict_below(Seq seq) {
  if (seq <= lowest_live_) return;
  lowest_live_ = seq;
  drop_dead();
}

void Expiry::drop_dead() {
  while (!generations_.empty() && first_of(generations_.front().number + 1) <= lowest_live_) {
    generations_.pop_front();
  }
}

// ---- What a commit record stores: the number of times, and the times. If a part of the first generation was
// evicted, also its number and the time of its youngest member, which may be among the evicted ones.

std::string Expiry::state() const {
  std::string out;
  if (expire_after_ms_ == 0) return out;
  put_varint(out, largest_.size());
  for (int64_t time : largest_) put_fixed(out, time);
  if (!generations_.empty()) {
    const Generation& first = generations_.front();
    if (first_of(first.number) < lowest_live_ && first.youngest_ms != kNoTime) {
      put_varint(out, first.number);
      put_fixed(out, first.youngest_ms);
    }
  }
  return out;
}

absl::Status Expiry::start_restore(Seq lowest_live, std::string_view state) {
  restoring_ = true;
  lowest_live_ = lowest_live;
  largest_.clear();
  restored_first_.reset();
  if (state.empty()) return absl::OkStatus();
  ByteReader in(state);
  uint64_t n = in.varint();
  for (uint64_t i = 0; i < n && in.ok(); ++i) largest_.push_back(in.fixed<int64_t>());
  if (in.ok() && !in.rest().empty()) {
    Generation first;
    first.number = in.varint();
    first.youngest_ms = in.fixed<int64_t>();
    restored_first_ = first;
  }
  if (!in.done()) return absl::DataLossError("the record times of a commit are damaged");
  std::make_heap(largest_.begin(), largest_.end(), std::greater<>());
  return absl::OkStatus();
}

void Expiry::known_late(Seq seq, int64_t trusted_ms) {
  const uint64_t number = generation_of(seq);
  auto at = std::lower_bound(generations_.begin(), generations_.end(), number,
                             [](const Generation& g, uint64_t n) { return g.number < n; });
  if (at != generations_.end() && at->number == number)
    at->youngest_ms = std::max(at->youngest_ms, trusted_ms);
}

void Expiry::finish_restore() {
  restoring_ = false;
  drop_dead();
  if (restored_first_ && first_of(restored_first_->number + 1) > lowest_live_) {
    if (generations_.empty() || generations_.front().number > restored_first_->number) {
      generations_.push_front(*restored_first_);
    } else {
      known_late(first_of(restored_first_->number), restored_first_->youngest_ms);
    }
  }
  restored_first_.reset();
  if (generations_.empty()) return;
  const Generation last = generations_.back();
  generations_.pop_back();
  std::erase_if(generations_, [](const Generation& g) { return g.youngest_ms == kNoTime; });
  generations_.push_back(last);
}

}  // namespace doppel
