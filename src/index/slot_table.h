#pragma once
// A table from 64-bit hashes to ordinals that grows in place by a fourth, a few buckets at a time.
//
// Buckets of one cache line (bucket.h) in one contiguous reservation. The home of a hash is
// floor(top bits * buckets / 2^bits), so hashes stand in order, and more buckets only spread them out. An
// entry that finds its home full goes to another bucket of its group of eight; what finds no place there, and
// what has many equals (a hot key), goes to an ordered side set, which keeps long runs of equal keys out of
// everybody else's way.
//
// Growth from n to n + n/4 buckets: groups are taken from the end backwards and each entry is put where the
// new layout wants it, always above the place it came from. The frontier says which layout holds: homes below
// it are in the old one. Every insert pays for a few homes, so no insert pays for all. Tables are started at
// different sizes by their owner, so that they do not all grow at once.
//
// What is found is a superset: a hash that shares the stored bits is returned too, and so are entries of rows
// that have died. Whoever asks decides from the rows.

#include <cmath>
#include <cstdint>
#include <utility>

#include "base/pod_vector.h"
#include "index/bucket.h"
#include "index/fetch.h"
#include "index/pages.h"
#include "index/side_set.h"

namespace doppel {

// What a table must ask the rows for, rarely: its entries hold only some bits of their hash.
class EntrySource {
 public:
  virtual ~EntrySource() = default;
  virtual uint64_t hash_of(int kind, uint32_t ordinal) const = 0;
  virtual void prefetch(int kind, uint32_t ordinal) const = 0;
  virtual bool alive(uint32_t ordinal) const = 0;
};

// The circumstances of one insert.
struct Insertion {
  const EntrySource* source = nullptr;
  int kind = 0;  // of this table, for the source
  Window window;
  bool expired = false;  // there may be entries outside the window
  uint32_t moved = 0;    // so far, over all tables
};
inline constexpr uint32_t kMovesMax = 4096;  // of one insert, over all tables
inline constexpr int kSameMax = 4;           // equals that may stand in a home; more go aside
inline uint64_t whole_groups(double buckets) {
  return (static_cast<uint64_t>(std::ceil(buckets)) + kGroup - 1) / kGroup * kGroup;
}

class SlotTable {
 public:
  // Room for `buckets` at first (a fraction keeps tables apart that are rounded to the same number), for
  // about `entries_max` entries ever.
  SlotTable(double buckets, uint64_t entries_max);
  // All of that room at once, where it is about to be filled.
  void take_memory() { pages_.take_all(); }

  // Where a hash belongs, until the next insert.
  struct Place {
    const Bucket* home;
    uint32_t stored;
  };
  Place place(uint64_t h) const {
    const uint64_t home = now_.home(h);
    if (home < frontier_) [[likely]]
      return {buckets_ + home, now_.stored(h)};
    return {buckets_ + next_.home(h), next_.stored(h)};
  }

  // Whether anything may be found, from the home's line alone: in it, elsewhere.
  static bool maybe_home(const Place& at) { return same_hash(*at.home, at.stored) != 0; }
  static bool maybe_elsewhere(const Place& at) { return (at.home->header & filter_bit(at.stored)) != 0; }
  // Appends the ordinals of all entries whose hash may be that of `at`: those that stand at home, and the
  // others.
  static void find_home(const Place& at, PodVector<uint32_t>& out) { find_in(*at.home, at.stored, 0, out); }
  void find_elsewhere(uint64_t h, const Place& at, PodVector<uint32_t>& out) const;
  void prefetch_elsewhere(const Place& at) const {
    for (uint32_t d = 1; d < kDistances; ++d) fetch(neighbour(at, d));
  }

  // Where an insert goes on to when home is full, in steps: d = 1; d = 2 and 3; d = 4 and 5; the side set.
  // full() tells whether it comes to a step if it came to the one before, whose lines must be here;
  // prefetch_room() asks for those of the step.
  static constexpr uint32_t kRoomSteps = 4;
  bool full(const Place& at, uint32_t step) const {
    const uint32_t last = step == 0 ? 0 : 2 * step - 1;
    const uint32_t first = step < 2 ? last : last - 1;
    return (free_slots(neighbour(at, first)->header) | free_slots(neighbour(at, last)->header)) == 0;
  }
  void prefetch_room(const Place& at, uint32_t step) const {
    const auto home = static_cast<uint64_t>(at.home - buckets_);
    if (step == 3) return side(home).prefetch(home);
    if (step != 0) fetch(neighbour(at, 2 * step));
    fetch(neighbour(at, 2 * step + 1));
  }

  void insert(uint64_t h, uint32_t ordinal, Insertion& insertion);

  uint64_t entries() const { return entries_ + sides_; }
  uint64_t side_entries() const { return sides_; }
  uint64_t inserts() const { return inserts_; }
  uint64_t bytes() const { return touched_ + sides_ * 20 + side_now_.bytes() + side_next_.bytes(); }
  double load() const { return static_cast<double>(entries_) / static_cast<double>(now_.buckets * kSlots); }

 private:
  const Bucket* neighbour(const Place& at, uint32_t d) const {
    return buckets_ + (static_cast<uint64_t>(at.home - buckets_) ^ d);
  }
  static void find_in(const Bucket& bucket, uint32_t stored, uint32_t distance, PodVector<uint32_t>& out) {
    for (uint32_t same = same_hash(bucket, stored); same != 0; same &= same - 1) {
      const int slot = __builtin_ctz(same);
      const uint32_t entry = bucket.entry[slot];
      if (code_at(bucket.header, slot) != 1 + distance / 2) continue;
      if ((entry & ~kOrdinalMask) == entry_top(stored, distance)) out.push_back(entry & kOrdinalMask);
    }
  }
  bool growing() const { return next_.buckets != 0; }

  SideSet& side(uint64_t home) { return home < frontier_ ? side_now_ : side_next_; }
  const SideSet& side(uint64_t home) const { return home < frontier_ ? side_now_ : side_next_; }

  bool put_near(uint64_t home, uint32_t stored, uint32_t ordinal);
  void put_aside(uint64_t h, uint64_t home, uint32_t stored, uint32_t ordinal, const Insertion& insertion);
  void drop_expired(Bucket& bucket, const Window& window);

  void maintain(Insertion& insertion);
  void start_growing();
  void grow_some(Insertion& insertion);
  void finish_growing(Insertion& insertion);
  void move_group(uint64_t group, Insertion& insertion);
  void move_entries(uint64_t group, const uint64_t* first, uint64_t lowest, Insertion& insertion);
  void rehash_entries(uint64_t group, const uint64_t* first, Insertion& insertion);
  void rehash_entry(uint64_t top, uint32_t ordinal, const Insertion& insertion);
  void settle_moved_side(uint64_t group, Insertion& insertion);
  void settle_cleaned_side(uint64_t group, Insertion& insertion);
  bool settle(const SideSet::Entry& entry, const Layout& layout, Insertion& insertion);
  void set_touched();

  bool mostly_live(const Window& window) const;
  void clean_group(uint64_t group, Insertion& insertion);

  Bucket* buckets_ = nullptr;
  Layout now_;
  double size_ = 0;        // now_.buckets before it was rounded
  uint64_t frontier_ = 0;  // homes below it are laid out by now_, others by next_
  Layout next_;            // while growing; else 0 buckets
  uint64_t built_ = 0;     // while growing: buckets from here on belong to next_
  uint64_t cleaning_ = 0;  // buckets below it are still to be cleaned of expired entries
  uint64_t entries_ = 0;   // in buckets
  uint64_t inserts_ = 0;
  uint64_t limit_ = 0;   // more entries than this: grow, or clean
  uint64_t credit_ = 0;  // homes that inserts have paid for
  uint64_t touched_ = 0;
  // Entries of homes below the frontier, and of the others.
  SideSet side_now_;
  SideSet side_next_;
  uint64_t sides_ = 0;  // entries in both
  Pages pages_;
};

}  // namespace doppel
