#include "index/slot_table.h"

#include <algorithm>
#include <bit>

namespace doppel {

SlotTable::SlotTable(double buckets, uint64_t entries_max)
    : size_(std::max(buckets, static_cast<double>(kGroup))),
      pages_(std::max(whole_groups(size_) * 2, entries_max / 7) * sizeof(Bucket) + kHugePage,
             whole_groups(size_) * sizeof(Bucket), kHugePage) {
  const uint64_t n = whole_groups(size_);
  now_ = Layout::of(n);
  frontier_ = now_.buckets;
  side_now_ = SideSet(now_.buckets);
  limit_ = now_.limit();
  buckets_ = reinterpret_cast<Bucket*>(pages_.data());
  pages_.require(now_.buckets * sizeof(Bucket));
  set_touched();
}

void SlotTable::set_touched() {
  const uint64_t bytes = std::max(now_.buckets, next_.buckets) * sizeof(Bucket);
  const uint64_t unit = bytes > kHugePage ? kHugePage : 4096;
  touched_ = std::max(touched_, (bytes + unit - 1) / unit * unit);
}

void SlotTable::find_elsewhere(uint64_t h, const Place& at, PodVector<uint32_t>& out) const {
  for (uint32_t d = 1; d < kDistances; ++d) find_in(*neighbour(at, d), at.stored, d, out);
  if ((at.home->header & kSide) == 0) return;
  const auto home = static_cast<uint64_t>(at.home - buckets_);
  for (const SideSet::Entry& entry : side(home).equals(home, h)) out.push_back(entry.ordinal);
}

bool SlotTable::put_near(uint64_t home, uint32_t stored, uint32_t ordinal) {
  for (uint32_t d = 0; d < kDistances; ++d) {
    Bucket& bucket = buckets_[home ^ d];
    const uint32_t free = free_slots(bucket.header);
    if (free == 0) continue;
    put(bucket, slot_of_bit(free), stored, ordinal, d);
    if (d != 0) buckets_[home].header |= filter_bit(stored);
    ++entries_;
    return true;
  }
  return false;
}

void SlotTable::put_aside(uint64_t h, uint64_t home, uint32_t stored, uint32_t ordinal,
                          const Insertion& insertion) {
  buckets_[home].header |= kSide | filter_bit(stored);
  SideSet& set = side(home);
  set.insert(home, {h, ordinal});
  ++sides_;
  // Dead entries of a hot key would be looked at for ever: from time to time they go.
  const size_t equals = set.equals(home, h).size();
  if (equals < 8 || !std::has_single_bit(equals)) return;
  sides_ -= std::erase_if(set.run(home), [&](const SideSet::Entry& entry) {
    return entry.h == h && !insertion.source->alive(entry.ordinal);
  });
}

void SlotTable::drop_expired(Bucket& bucket, const Window& window) {
  for (uint32_t used = used_slots(bucket.header); used != 0; used &= used - 1) {
    const int slot = slot_of_bit(used);
    if (window.contains(bucket.entry[slot] & kOrdinalMask)) continue;
    clear(bucket, slot);
    --entries_;
  }
}

void SlotTable::insert(uint64_t h, uint32_t ordinal, Insertion& insertion) {
  const Place at = place(h);
  const auto home = static_cast<uint64_t>(at.home - buckets_);
  const uint32_t same = same_hash(*at.home, at.stored);
  const bool hot = same != 0 && std::popcount(same) >= kSameMax;
  ++inserts_;
  if (hot || !put_near(home, at.stored, ordinal)) put_aside(h, home, at.stored, ordinal, insertion);
  if (entries_ > limit_ || growing() || cleaning_ != 0) maintain(insertion);
}

}  // namespace doppel
