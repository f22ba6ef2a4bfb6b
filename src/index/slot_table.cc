#include "index/slot_table.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace doppel {
namespace {

constexpr uint64_t kFinish = 64;  // the last homes move together: below, old and new places would overlap
constexpr uint64_t kPace = 8;     // homes that one insert pays for
constexpr int kSameMax = 4;       // equals that may stand in a home; more go aside

uint64_t limit_of(uint64_t buckets) { return buckets * kSlots * 88 / 100; }
uint64_t whole_groups(double buckets) {
  return (static_cast<uint64_t>(std::ceil(buckets)) + kGroup - 1) / kGroup * kGroup;
}

// Few tables pass a step here: then entries are hashed anew.
int bits_of(uint64_t buckets) {
  return kStoredBits + (buckets >= uint64_t{1} << 17 ? 16 : buckets >= uint64_t{1} << 9 ? 8 : 0);
}

}  // namespace

SlotTable::SlotTable(double buckets, uint64_t entries_max)
    : size_(std::max(buckets, static_cast<double>(kGroup))),
      pages_(std::max(whole_groups(size_) * 2, entries_max / 7) * sizeof(Bucket) + kHugePage,
             whole_groups(size_) * sizeof(Bucket), kHugePage) {
  const uint64_t n = whole_groups(size_);
  now_ = {n, bits_of(n)};
  frontier_ = now_.buckets;
  limit_ = limit_of(now_.buckets);
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
  for (auto it = side_.lower_bound({h, 0}); it != side_.end() && it->first == h; ++it)
    out.push_back(it->second);
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
  side_.insert({h, ordinal});
  // Dead entries of a hot key would be looked at for ever: from time to time they go.
  const auto first = side_.lower_bound({h, 0});
  size_t equals = 0;
  for (auto it = first; it != side_.end() && it->first == h; ++it) ++equals;
  if (equals < 8 || !std::has_single_bit(equals)) return;
  for (auto it = first; it != side_.end() && it->first == h;) {
    if (insertion.source->alive(it->second)) {
      ++it;
    } else {
      it = side_.erase(it);
    }
  }
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
  if (hot || !put_near(home, at.stored, ordinal)) put_aside(h, home, at.stored, ordinal, insertion);
  if (entries_ > limit_ || growing() || cleaning_ != 0) maintain(insertion);
}

// Growing and cleaning ------------------------------------------------------------------------------

void SlotTable::maintain(Insertion& insertion) {
  if (!growing() && cleaning_ == 0) {
    credit_ = 0;
    if (insertion.expired && !mostly_live(insertion.window)) {
      cleaning_ = now_.buckets;
    } else {
      start_growing();
    }
  }
  credit_ += kPace;
  // In pieces: neighbours share pages, and lines that are fetched ahead.
  const uint64_t piece = std::clamp<uint64_t>(now_.buckets / 8, kGroup, 128);
  if (cleaning_ != 0) {
    for (; credit_ >= kGroup && cleaning_ != 0; credit_ -= kGroup)
      clean_group(cleaning_ -= kGroup, insertion);
  } else if (growing() && (credit_ >= piece || frontier_ <= kFinish)) {
    grow_some(insertion);
  }
}

void SlotTable::start_growing() {
  // A fourth more than before rounding; but at least a fifth more, or old and new places would meet.
  double size = size_ * 1.25;
  if (static_cast<double>(whole_groups(size)) < static_cast<double>(now_.buckets) * 1.2) {
    size = static_cast<double>(now_.buckets) * 1.25;
  }
  const uint64_t buckets = whole_groups(size);
  if (!pages_.grow(buckets * sizeof(Bucket))) {
    limit_ = ~uint64_t{0};  // no more room: what finds no place goes aside
    return;
  }
  size_ = size;
  next_ = {buckets, bits_of(buckets)};
  built_ = buckets;
  set_touched();
}

void SlotTable::grow_some(Insertion& insertion) {
  while (credit_ >= kGroup && frontier_ > kFinish && insertion.moved + kGroup * kSlots <= kMovesMax) {
    move_group(frontier_ - kGroup, insertion);
    credit_ -= kGroup;
  }
  if (frontier_ <= kFinish && insertion.moved + kFinish * kSlots <= kMovesMax) finish_growing(insertion);
}

// Moves the last group of the old layout. All that stands in it is at home in it.
void SlotTable::move_group(uint64_t group, Insertion& insertion) {
  const bool rehash = now_.bits != next_.bits;
  if (rehash) {
    for (uint64_t b = group - kGroup; b < group; ++b) {
      for (uint32_t used = used_slots(buckets_[b].header); used != 0; used &= used - 1) {
        insertion.source->prefetch(insertion.kind, buckets_[b].entry[slot_of_bit(used)] & kOrdinalMask);
      }
    }
  }
  uint64_t first[kGroup + 1];
  for (uint64_t i = 0; i <= kGroup; ++i) first[i] = now_.first_top(group + i);
  // Buckets that the new layout enters here held old entries that have all moved.
  const uint64_t lowest = next_.home(first[0] << (64 - now_.bits)) / kGroup * kGroup;
  while (built_ > lowest) buckets_[--built_].header = 0;

  // Lines that the next groups will read and write.
  for (uint64_t i = 0; i < kGroup; ++i) fetch(buckets_ + group - 2 * kGroup + i);
  for (uint64_t i = 1; i <= 2 * kGroup; ++i) fetch(buckets_ + lowest - i);

  struct Entry {
    uint64_t top;
    uint32_t stored, ordinal;
  };
  Entry late[kGroup * kSlots];  // their new homes are full
  size_t lates = 0;
  uint32_t side = 0;
  for (uint64_t b = 0; b < kGroup; ++b) {
    Bucket& bucket = buckets_[group + b];
    side |= bucket.header & kSide;
    for (uint32_t used = used_slots(bucket.header); used != 0; used &= used - 1) {
      const int slot = slot_of_bit(used);
      const uint32_t stored = stored_at(bucket, slot);
      const uint32_t ordinal = bucket.entry[slot] & kOrdinalMask;
      --entries_;
      if (!insertion.window.contains(ordinal)) continue;
      ++insertion.moved;
      const uint64_t top = Layout::top_from(first[b ^ distance_at(bucket, slot)], stored);
      if (!move_entry(top, stored, ordinal, true, insertion)) late[lates++] = {top, stored, ordinal};
    }
  }
  for (size_t i = 0; i < lates; ++i)
    move_entry(late[i].top, late[i].stored, late[i].ordinal, false, insertion);
  if (side != 0) settle_side(first[0], first[kGroup], next_, insertion);
  frontier_ = group;
}

// At the first try only the new home will do.
bool SlotTable::move_entry(uint64_t top, uint32_t stored, uint32_t ordinal, bool first_try,
                           Insertion& insertion) {
  const bool rehash = now_.bits != next_.bits;
  uint64_t home = next_.home_of_top(top);
  uint64_t h = 0;
  if (rehash) {
    h = insertion.source->hash_of(insertion.kind, ordinal);
    if (now_.top(h) != top) return true;  // the row of this entry is long gone, another has its ordinal
    home = next_.home(h);
    stored = next_.stored(h);
  }
  Bucket& bucket = buckets_[home];
  if (const uint32_t free = free_slots(bucket.header)) {
    put(bucket, slot_of_bit(free), stored, ordinal, 0);
    ++entries_;
    return true;
  }
  if (first_try) return false;
  if (put_near(home, stored, ordinal)) return true;
  if (!rehash) h = insertion.source->hash_of(insertion.kind, ordinal);
  if (now_.top(h) == top) put_aside(h, home, stored, ordinal, insertion);
  return true;
}

// What stands aside with tops (by now_) in [first_top, end_top) finds its place, or its flag, in `layout`.
void SlotTable::settle_side(uint64_t first_top, uint64_t end_top, const Layout& layout,
                            Insertion& insertion) {
  const int shift = 64 - now_.bits;
  const bool to_the_end = end_top >> now_.bits != 0;
  for (auto it = side_.lower_bound({first_top << shift, 0});
       it != side_.end() && (to_the_end || it->first < end_top << shift);) {
    if (!insertion.window.contains(it->second)) {
      it = side_.erase(it);
      continue;
    }
    const uint64_t h = it->first;
    const uint64_t home = layout.home(h);
    const uint32_t stored = layout.stored(h);
    if (insertion.moved < kMovesMax && std::popcount(same_hash(buckets_[home], stored)) < kSameMax / 2 &&
        put_near(home, stored, it->second)) {
      ++insertion.moved;
      it = side_.erase(it);
    } else {
      buckets_[home].header |= kSide | filter_bit(stored);
      ++it;
    }
  }
}

// The rest at once: here old and new places overlap.
void SlotTable::finish_growing(Insertion& insertion) {
  struct Entry {
    uint64_t top;
    uint32_t stored, ordinal;
  };
  PodVector<Entry> entries;
  for (uint64_t b = 0; b < frontier_; ++b) {
    const Bucket& bucket = buckets_[b];
    for (uint32_t used = used_slots(bucket.header); used != 0; used &= used - 1) {
      const int slot = slot_of_bit(used);
      const uint32_t stored = stored_at(bucket, slot);
      const uint32_t ordinal = bucket.entry[slot] & kOrdinalMask;
      const uint64_t home = b ^ distance_at(bucket, slot);
      --entries_;
      if (!insertion.window.contains(ordinal)) continue;
      entries.push_back({Layout::top_from(now_.first_top(home), stored), stored, ordinal});
    }
  }
  const uint64_t end_top = now_.first_top(frontier_);
  while (built_ > 0) buckets_[--built_].header = 0;
  insertion.moved += static_cast<uint32_t>(entries.size());
  for (const Entry& entry : entries) move_entry(entry.top, entry.stored, entry.ordinal, false, insertion);
  settle_side(0, end_top, next_, insertion);
  now_ = next_;
  next_ = {};
  frontier_ = now_.buckets;
  limit_ = limit_of(now_.buckets);
}

// Whether growing would help more than cleaning: looks at 64 buckets, evenly spread.
bool SlotTable::mostly_live(const Window& window) const {
  uint64_t live = 0;
  uint64_t all = 0;
  for (uint64_t i = 0; i < 64; ++i) {
    const Bucket& bucket = buckets_[now_.buckets * i / 64];
    for (uint32_t used = used_slots(bucket.header); used != 0; used &= used - 1) {
      ++all;
      live += window.contains(bucket.entry[slot_of_bit(used)] & kOrdinalMask) ? 1 : 0;
    }
  }
  return live * 5 > all * 4;
}

// Drops what has expired, takes entries home where there is room again, makes filters and flags anew.
void SlotTable::clean_group(uint64_t group, Insertion& insertion) {
  uint32_t filter[kGroup] = {};
  uint32_t side = 0;
  for (uint64_t b = 0; b < kGroup; ++b) {
    Bucket& bucket = buckets_[group + b];
    side |= bucket.header & kSide;
    drop_expired(bucket, insertion.window);
  }
  for (uint64_t b = 0; b < kGroup; ++b) {
    Bucket& bucket = buckets_[group + b];
    for (uint32_t used = used_slots(bucket.header); used != 0; used &= used - 1) {
      const int slot = slot_of_bit(used);
      const uint32_t distance = distance_at(bucket, slot);
      if (distance == 0) continue;
      const uint32_t stored = stored_at(bucket, slot);
      Bucket& home = buckets_[group + (b ^ distance)];
      const uint32_t free = free_slots(home.header);
      if (free == 0 || insertion.moved >= kMovesMax) {
        filter[b ^ distance] |= filter_bit(stored);
        continue;
      }
      put(home, slot_of_bit(free), stored, bucket.entry[slot] & kOrdinalMask, 0);
      clear(bucket, slot);
      ++insertion.moved;
    }
  }
  for (uint64_t b = 0; b < kGroup; ++b) {
    uint32_t& header = buckets_[group + b].header;
    header = (header & (kCodeOnes * 3)) | filter[b];
  }
  if (side != 0) settle_side(now_.first_top(group), now_.first_top(group + kGroup), now_, insertion);
}

}  // namespace doppel
