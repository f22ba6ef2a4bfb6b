// How a band table grows (and is cleaned of what has expired): a few groups at a time, from the end
// backwards.

#include <algorithm>
#include <bit>

#include "index/move_targets.h"
#include "index/slot_table.h"

namespace doppel {
namespace {

constexpr uint64_t kFinish = 64;  // the last homes move together: below, old and new places would overlap
constexpr uint64_t kPace = 8;     // homes that one insert pays for

}  // namespace

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
  double size = size_ * 1.2;
  if (static_cast<double>(whole_groups(size)) < static_cast<double>(now_.buckets) * 1.15) {
    size = static_cast<double>(now_.buckets) * 1.25;
  }
  const uint64_t buckets = whole_groups(size);
  if (!pages_.grow(buckets * sizeof(Bucket))) {
    limit_ = ~uint64_t{0};  // no more room: what finds no place goes aside
    return;
  }
  size_ = size;
  next_ = Layout::of(buckets);
  side_next_ = SideSet(buckets);
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
  uint64_t first[kGroup + 1];
  for (uint64_t i = 0; i <= kGroup; ++i) first[i] = now_.first_top(group + i);
  // Buckets that the new layout enters here held old entries that have all moved.
  const uint64_t lowest = next_.home(first[0] << (64 - now_.bits)) / kGroup * kGroup;
  while (built_ > lowest) buckets_[--built_].header = 0;

  // Lines that the next groups will read and write.
  for (uint64_t i = 0; i < kGroup; ++i) fetch(buckets_ + group - 2 * kGroup + i);
  for (uint64_t i = 1; i <= 2 * kGroup; ++i) fetch(buckets_ + lowest - i);

  if (now_.bits == next_.bits) {
    move_entries(group, first, lowest, insertion);
  } else {
    rehash_entries(group, first, insertion);
  }
  settle_moved_side(group, insertion);
  frontier_ = group;
}

// First everything goes home, into the next free slot; what finds its home full then goes near. No branch
// depends on an entry: what is not used, or expired, or finds no slot, is written to a bucket that nobody
// reads.
void SlotTable::move_entries(uint64_t group, const uint64_t* first, uint64_t lowest, Insertion& insertion) {
  static_assert(kGroup - 1 + 2 * kGroup < kNowhere);  // a table at most doubles
  Bucket* const out = buckets_ + lowest;
  MoveRule rule;
  for (uint64_t i = 0; i < kGroup; ++i) {
    rule.first[i] = static_cast<uint32_t>(first[i] - first[0]);
    rule.first_stored[i] = static_cast<uint32_t>(first[i]);
  }
  rule.bits = next_.bits;
  rule.buckets = next_.buckets;
  rule.start = first[0] * next_.buckets - (lowest << rule.bits);
  rule.window = insertion.window;
  alignas(64) uint8_t to[kGroup * kSlots];
  move_targets_for(simd_level())(buckets_ + group, rule, to);

  const uint64_t end = ((rule.start + (first[kGroup] - first[0] - 1) * rule.buckets) >> rule.bits) + 1;
  uint32_t count[kNowhere + 1];
  uint32_t count_before[kNowhere + 1];
  // The slots in use are the first ones: nothing is taken out of new buckets.
  for (uint64_t i = 0; i < end; ++i) count[i] = count_before[i] = count_slots(used_slots(out[i].header));
  count[kNowhere] = kSlots;
  uint8_t late[kGroup * kSlots + 1];
  size_t lates = 0;
  uint64_t used = 0;
  uint64_t still = 0;
  Bucket nobodys;
  for (size_t b = 0, i = 0; b < kGroup; ++b) {
    const Bucket& bucket = buckets_[group + b];
    used += count_slots(used_slots(bucket.header));
    for (int slot = 0; slot < kSlots; ++slot, ++i) {
      const uint32_t place = count[to[i]];
      const bool fits = place < kSlots;
      count[to[i]] = place + static_cast<uint32_t>(fits);
      Bucket* const target = fits ? out + to[i] : &nobodys;
      const uint32_t target_slot = fits ? place : 0;
      target->hash[target_slot] = bucket.hash[slot];
      target->entry[target_slot] = bucket.entry[slot] & ~(uint32_t{1} << kOrdinalBits);
      late[lates] = static_cast<uint8_t>(i);
      lates += static_cast<size_t>(!fits) & static_cast<size_t>(to[i] != kNowhere);
      still += static_cast<uint64_t>(fits);
    }
  }
  for (uint64_t i = 0; i < end; ++i) {
    const uint32_t filled = (uint32_t{1} << (2 * count[i])) - (uint32_t{1} << (2 * count_before[i]));
    out[i].header |= kCodeOnes & filled;
  }
  insertion.moved += static_cast<uint32_t>(still + lates);
  entries_ -= used - still;
  for (size_t i = 0; i < lates; ++i) {
    const Bucket& bucket = buckets_[group + late[i] / kSlots];
    const uint32_t stored = stored_at(bucket, late[i] % kSlots);
    const uint32_t ordinal = bucket.entry[late[i] % kSlots] & kOrdinalMask;
    const uint64_t home = lowest + to[late[i]];
    if (put_near(home, stored, ordinal)) continue;
    const uint64_t h = insertion.source->hash_of(insertion.kind, ordinal);
    // Otherwise the row of this entry is long gone, and another has its ordinal.
    if (next_.home(h) == home && next_.stored(h) == stored) put_aside(h, home, stored, ordinal, insertion);
  }
}

// The same where the new positions tell more bits of the hash: those are known to the rows only.
void SlotTable::rehash_entries(uint64_t group, const uint64_t* first, Insertion& insertion) {
  for (uint64_t b = group - kGroup; b < group; ++b) {
    for (uint32_t used = used_slots(buckets_[b].header); used != 0; used &= used - 1)
      insertion.source->prefetch(insertion.kind, buckets_[b].entry[slot_of_bit(used)] & kOrdinalMask);
  }
  for (uint64_t b = 0; b < kGroup; ++b) {
    const Bucket& bucket = buckets_[group + b];
    for (uint32_t used = used_slots(bucket.header); used != 0; used &= used - 1) {
      const int slot = slot_of_bit(used);
      const uint32_t stored = stored_at(bucket, slot);
      const uint32_t ordinal = bucket.entry[slot] & kOrdinalMask;
      --entries_;
      if (!insertion.window.contains(ordinal)) continue;
      ++insertion.moved;
      rehash_entry(Layout::top_from(first[b ^ distance_at(bucket, slot)], stored), ordinal, insertion);
    }
  }
}

// From the old layout, where it had this top, to the new one.
void SlotTable::rehash_entry(uint64_t top, uint32_t ordinal, const Insertion& insertion) {
  const uint64_t h = insertion.source->hash_of(insertion.kind, ordinal);
  if (now_.top(h) != top) return;  // the row of this entry is long gone, another has its ordinal
  const uint64_t home = next_.home(h);
  const uint32_t stored = next_.stored(h);
  if (!put_near(home, stored, ordinal)) put_aside(h, home, stored, ordinal, insertion);
}

// What stands aside finds its place, or its flag, in this layout. Whether it has left the side set.
bool SlotTable::settle(const SideSet::Entry& entry, const Layout& layout, Insertion& insertion) {
  if (!insertion.window.contains(entry.ordinal)) return true;
  const uint64_t home = layout.home(entry.h);
  const uint32_t stored = layout.stored(entry.h);
  if (insertion.moved < kMovesMax && std::popcount(same_hash(buckets_[home], stored)) < kSameMax / 2 &&
      put_near(home, stored, entry.ordinal)) {
    ++insertion.moved;
    return true;
  }
  buckets_[home].header |= kSide | filter_bit(stored);
  return false;
}

// Those from this group on: the last ones of the old layout.
void SlotTable::settle_moved_side(uint64_t group, Insertion& insertion) {
  SideSet::Run& run = side_now_.run(group);
  auto from = run.end();
  while (from != run.begin() && now_.home((from - 1)->h) >= group) --from;
  if (from == run.end()) return;
  SideSet::Run staying;
  for (auto it = from; it != run.end(); ++it) {
    if (!settle(*it, next_, insertion)) staying.push_back(*it);
  }
  sides_ -= static_cast<uint64_t>(run.end() - from) - staying.size();
  run.erase(from, run.end());
  if (run.empty()) SideSet::Run().swap(run);
  for (size_t at = 0; at < staying.size();) {
    const uint64_t home = next_.home(staying[at].h);
    size_t end = at + 1;
    while (end < staying.size() && SideSet::same_run(home, next_.home(staying[end].h))) ++end;
    side_next_.insert(home, std::span(staying).subspan(at, end - at));
    at = end;
  }
}

void SlotTable::settle_cleaned_side(uint64_t group, Insertion& insertion) {
  SideSet::Run& run = side_now_.run(group);
  const auto from = std::partition_point(
      run.begin(), run.end(), [&](const SideSet::Entry& entry) { return now_.home(entry.h) < group; });
  auto to = from;
  auto it = from;
  for (; it != run.end() && now_.home(it->h) < group + kGroup; ++it) {
    if (!settle(*it, now_, insertion)) *to++ = *it;
  }
  sides_ -= static_cast<uint64_t>(it - to);
  run.erase(to, it);
}

// The rest at once: here old and new places overlap.
void SlotTable::finish_growing(Insertion& insertion) {
  struct Entry {
    uint64_t top;
    uint32_t ordinal;
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
      entries.push_back({Layout::top_from(now_.first_top(home), stored), ordinal});
    }
  }
  frontier_ = 0;
  while (built_ > 0) buckets_[--built_].header = 0;
  insertion.moved += static_cast<uint32_t>(entries.size());
  for (const Entry& entry : entries) rehash_entry(entry.top, entry.ordinal, insertion);
  settle_moved_side(0, insertion);
  now_ = next_;
  side_now_ = std::move(side_next_);
  side_next_ = {};
  next_ = {};
  frontier_ = now_.buckets;
  limit_ = now_.limit();
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
  for (uint64_t b = 0; b < kGroup; ++b) drop_expired(buckets_[group + b], insertion.window);
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
  settle_cleaned_side(group, insertion);
}

}  // namespace doppel
