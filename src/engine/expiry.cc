#include "engine/expiry.h"

#include <algorithm>
#include <functional>

#include "base/bytes.h"
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
    largest_.push_back(timestamp_ms);
    std::push_heap(largest_.begin(), largest_.end(), std::greater<>());
  }
  if (largest_.size() < rank_) return lowest_live_;
  const int64_t watermark = largest_.front();
  // The last generation is still growing and never expires before it is full.
  while (generations_.size() > 1 && generations_.front().youngest_ms < watermark - expire_after_ms_) {
    lowest_live_ = generations_.front().end;
    generations_.pop_front();
  }
  return lowest_live_;
}

int64_t Expiry::trusted(int64_t timestamp_ms) const {
  if (timestamp_ms == kNoTime || largest_.size() < rank_) return kNoTime;
  return std::min(timestamp_ms, largest_.front());
}

void Expiry::added(Seq seq, int64_t trusted_ms) {
  if (expire_after_ms_ == 0 || seq < lowest_live_) return;
  if (generations_.empty() || seq % generation_size_ == 0) {
    // A generation without any record time goes together with the next one that has one.
    if (!generations_.empty() && generations_.back().youngest_ms == kNoTime) generations_.pop_back();
    generations_.push_back({});
  }
  Generation& last = generations_.back();
  last.end = seq + 1;
  last.youngest_ms = std::max(last.youngest_ms, trusted_ms);
}

void Expiry::known_late(Seq seq, int64_t trusted_ms) {
  for (Generation& generation : generations_) {
    if (seq >= generation.end) continue;
    generation.youngest_ms = std::max(generation.youngest_ms, trusted_ms);
    return;
  }
}

void Expiry::restore_lowest_live(Seq seq) {
  lowest_live_ = seq;
  while (!generations_.empty() && generations_.front().end <= seq) generations_.pop_front();
}

std::string Expiry::state() const {
  std::string out;
  if (expire_after_ms_ == 0) return out;
  put_varint(out, largest_.size());
  for (int64_t time : largest_) put_fixed(out, time);
  return out;
}

absl::Status Expiry::restore(std::string_view state) {
  largest_.clear();
  if (state.empty()) return absl::OkStatus();
  ByteReader in(state);
  uint64_t n = in.varint();
  for (uint64_t i = 0; i < n && in.ok(); ++i) largest_.push_back(in.fixed<int64_t>());
  if (!in.done()) return absl::DataLossError("the record times of a commit are damaged");
  std::make_heap(largest_.begin(), largest_.end(), std::greater<>());
  return absl::OkStatus();
}

}  // namespace doppel
