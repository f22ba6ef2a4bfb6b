#pragma once
// A table from 64-bit hashes to ordinals that grows by one block of one group at a time.
//
// It consists of blocks of eight lines (line.h) in one contiguous reservation, arranged by table_layout.h. An
// entry whose home is full goes to the overflow line of its block. If that has no room, or if the entry has
// many equals (a hot key), it goes to a sorted side set, so that long runs of equal keys do not slow down
// other lookups.
//
// The table grows in rounds: a round gives each group one more block. It starts when the table is full, and
// ends some per cent of inserts later; each insert pays for a part. Owners give their tables different
// phases, so that they do not grow at the same time. Small tables, whose entries store too few bits of their
// hashes, are rebuilt at twice the size instead. If many entries have expired, a round removes these and adds
// no blocks.
//
// A search returns a superset: it also returns entries with the same stored bits, and entries of dead rows.
// The caller decides from the rows.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/simd.h"
#include "index/line.h"
#include "index/line_kernels.h"
#include "index/pages.h"
#include "index/table_layout.h"

namespace doppel {

// Entries of a table that are in no line, because home and overflow line are full, or because the home has
// many equal ones. Four groups share a sorted run, so an insert touches one or two cache lines, and growth
// finds the entries of a group.
class SideSet {
 public:
  struct Entry {
    uint64_t h;
    uint32_t ordinal;
    bool operator<(const Entry& other) const { return h != other.h ? h < other.h : ordinal < other.ordinal; }
  };
  using Run = std::vector<Entry>;  // sorted

  SideSet() = default;
  explicit SideSet(uint64_t groups) { cover(groups); }
  // Makes sure that each group below `groups` has a run.
  void cover(uint64_t groups) {
    while (runs_.size() * kSpan < groups) runs_.emplace_back();
  }

  // The run with the entries of this group; entries of a group are contiguous.
  Run& run(uint64_t group) { return runs_[group / kSpan]; }
  const Run& run(uint64_t group) const { return runs_[group / kSpan]; }

  // All entries with this hash.
  static std::span<const Entry> equals(const Run& run, uint64_t h) {
    const auto first = std::lower_bound(run.begin(), run.end(), Entry{h, 0});
    auto last = first;
    while (last != run.end() && last->h == h) ++last;
    return {first, last};
  }
  static void insert(Run& run, Entry entry) {
    run.insert(std::upper_bound(run.begin(), run.end(), entry), entry);
  }
  const std::deque<Run>& runs() const { return runs_; }

  uint64_t bytes() const { return runs_.size() * sizeof(Run); }  // without the entries

 private:
  static constexpr uint64_t kSpan = 4;
  std::deque<Run> runs_;  // a deque grows without moving its elements
};

// What a table needs to know about rows. It asks rarely: only because its entries hold some bits of their
// hashes, not all.
class EntrySource {
 public:
  virtual ~EntrySource() = default;
  virtual uint64_t hash_of(int kind, uint32_t ordinal) const = 0;
  virtual void prefetch(int kind, uint32_t ordinal) const = 0;
  virtual bool alive(uint32_t ordinal) const = 0;
};

inline constexpr uint32_t kMovesMax = 4096;  // of one insert, over all tables

// The context of some inserts.
struct Insertion {
  const EntrySource* source = nullptr;
  int kind = 0;  // of this table, for the source
  OrdinalWindow window;
  bool expired = false;            // there may be entries outside the window
  uint32_t moved = 0;              // so far, over all tables
  uint32_t moved_max = kMovesMax;  // kMovesMax for each document of the batch
  const FreshMemory* fresh = nullptr;
};

class LineTable {
 public:
  struct Options {
    uint64_t entries = 0;      // initial room
    double phase = 0;          // 0 to 1: when it grows, relative to other tables
    uint64_t entries_max = 0;  // approximate maximum
  };
  explicit LineTable(const Options& options);
  // Takes the memory of all entries at once, for a table that is about to be filled.
  void take_memory() { pages_.take_all(); }

  // Where a hash belongs; valid until the table grows.
  using Place = LinePlace;
  Place place(uint64_t h) const {
    const TableLayout::Place at = layout_.place(h);
    return {lines() + at.line, at.stored};
  }
  void places(const LineKernels& kernels, const uint64_t* h, size_t n, Place* out) const {
    kernels.places(layout_, lines(), h, n, out);
  }

  // The steps of a lookup. The home tells whether a match may be in it, or elsewhere; the overflow line tells
  // whether it may be in the side set.
  static uint32_t same_home(const Line& home, uint32_t stored) {
    return same_hash(home, stored, home_count(home));
  }
  static bool maybe_home(const Place& at) { return same_home(*at.home, at.stored) != 0; }
  static bool maybe_elsewhere(const Place& at) { return (at.home->tail & filter_bit(at.stored)) != 0; }
  static bool maybe_aside(const Place& at) { return (overflow_of(at.home)->tail & kAside) != 0; }
  // Each appends the ordinals of all entries there whose hash may be that of `at`.
  static void find_home(const Place& at, PodVector<uint32_t>& out);
  static void find_overflow(const Place& at, PodVector<uint32_t>& out);
  void find_aside(uint64_t h, PodVector<uint32_t>& out) const;
  // All steps together.
  void find(uint64_t h, const Place& at, PodVector<uint32_t>& out) const {
    find_home(at, out);
    if (!maybe_elsewhere(at)) return;
    find_overflow(at, out);
    if (maybe_aside(at)) find_aside(h, out);
  }

  // The steps of an insert: if one returns false, continue with the next. LineKernels does the first step for
  // many entries.
  static bool put_home(const Place& at, uint32_t ordinal);
  static bool put_overflow(const Place& at, uint32_t ordinal);
  void put_aside(uint64_t h, const Place& at, uint32_t ordinal, const Insertion& insertion);
  void prefetch_run(uint64_t h) const { fetch(&side_run(h)); }
  void prefetch_aside(uint64_t h) const {
    const SideSet::Run& run = side_run(h);
    for (size_t at = 0; at < std::min<size_t>(run.size(), 32); at += 4) fetch(run.data() + at);
  }
  // Counts `n` completed inserts and pays for them by growing. Invalidates all places.
  void pay(uint32_t n, Insertion& insertion) {
    inserts_ += n;
    entries_ += n;
    if (entries_ - sides_ > limit_ || in_round_) maintain(n, insertion);
  }
  // All steps together.
  void insert(uint64_t h, uint32_t ordinal, Insertion& insertion);

  uint64_t entries() const { return entries_; }
  uint64_t side_entries() const { return sides_; }
  uint64_t inserts() const { return inserts_; }
  uint64_t bytes() const;
  double load() const {
    return static_cast<double>(entries_ - sides_) / static_cast<double>(blocks_ * kBlockSlots);
  }

  // The average memory for an entry over the growth of a table.
  static double bytes_each();

 private:
  Line* lines() const { return reinterpret_cast<Line*>(pages_.data()); }
  Block* blocks() const { return reinterpret_cast<Block*>(pages_.data()); }
  bool small() const;
  static uint64_t limit_of(uint64_t blocks);
  static TableLayout layout_for(const Options& o);
  void set_limit();
  // Whether this round splits each group in two.
  bool doubling() const { return in_round_ && layout_.rule[1].blocks == kBlocksMost; }
  const SideSet::Run& side_run(uint64_t h) const {
    const uint64_t group = layout_.group(h);
    if (group < layout_.frontier && doubling()) return side_next_.run(2 * group);
    return side_.run(group);
  }
  SideSet::Run& side_run(uint64_t h) { return const_cast<SideSet::Run&>(std::as_const(*this).side_run(h)); }

  void maintain(uint32_t inserts, Insertion& insertion);
  void prepare_round(const Insertion& insertion);
  void start_round(Insertion& insertion);
  void go_on(Insertion& insertion);
  void rebuild(uint64_t group, Insertion& insertion);
  void rehash(uint64_t group, Rebuild& r, const Insertion& insertion);
  void finish_round();
  void settle(uint64_t group, Insertion& insertion);
  size_t settle_entries(SideSet::Run& run, size_t from, size_t to, Insertion& insertion);
  void make_larger(Insertion& insertion);
  bool mostly_live(const OrdinalWindow& window) const;

  Options options_;
  TableLayout layout_;
  uint64_t blocks_ = 0;  // in use
  uint64_t entries_ = 0;
  uint64_t sides_ = 0;  // of these: in the side set
  uint64_t inserts_ = 0;
  uint64_t limit_ = 0;     // number of entries in lines at which the table needs maintenance
  bool prepared_ = false;  // the memory for the next round is reserved
  bool in_round_ = false;
  uint64_t round_inserts_ = 0;  // since the round started
  SideSet side_;
  SideSet side_next_;  // while doubling: groups below the frontier, by their new numbers
  Pages pages_;
};

// Removes repeated ordinals from what searches found for one query. Compares few with each other; uses a
// small hash table for many, so that the cost stays linear when all bands are hot.
void remove_repeats(PodVector<uint32_t>& ordinals, PodVector<uint32_t>& scratch);

}  // namespace doppel
