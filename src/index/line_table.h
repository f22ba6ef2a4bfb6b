#pragma once
// A table from 64-bit hashes to ordinals that grows by one block of one group at a time.
//
// Blocks of eight lines (line.h) in one contiguous reservation, laid out by table_layout.h. An entry that
// finds its home full goes to the overflow line of its block; what finds no place there, and what has many
// equals (a hot key), goes to an ordered side set, which keeps long runs of equal keys out of everybody
// else's way.
//
// Growth is a round through the groups, each of which gets a block more. A round begins when the table is
// full and ends some per cent of inserts later: every insert pays for a part of it. Owners give their tables
// different phases, so that they do not all grow at once. Small tables, whose entries say too little of their
// hashes, are made again in twice the size instead. Where many entries have expired, a round throws these out
// and adds nothing.
//
// What is found is a superset: a hash that shares the stored bits is returned too, and so are entries of rows
// that have died. The caller decides from the rows.

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/pod_vector.h"
#include "index/fetch.h"
#include "index/line.h"
#include "index/line_kernels.h"
#include "index/pages.h"
#include "index/rebuild.h"
#include "index/side_set.h"
#include "index/table_layout.h"

namespace doppel {

// What a table must ask the rows for, rarely: its entries hold only some bits of their hash.
class EntrySource {
 public:
  virtual ~EntrySource() = default;
  virtual uint64_t hash_of(int kind, uint32_t ordinal) const = 0;
  virtual void prefetch(int kind, uint32_t ordinal) const = 0;
  virtual bool alive(uint32_t ordinal) const = 0;
};

inline constexpr uint32_t kMovesMax = 4096;  // of one insert, over all tables

// The circumstances of some inserts.
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
    uint64_t entries = 0;      // room for so many at first
    double phase = 0;          // from 0 to 1: when it grows, compared with other tables
    uint64_t entries_max = 0;  // about so many ever
  };
  explicit LineTable(const Options& options);
  // All of the room at once, where it is about to be filled.
  void take_memory() { pages_.take_all(); }

  // Where a hash belongs, until the next growth.
  using Place = LinePlace;
  Place place(uint64_t h) const {
    const TableLayout::Place at = layout_.place(h);
    return {lines() + at.line, at.stored};
  }
  void places(const LineKernels& kernels, const uint64_t* h, size_t n, Place* out) const {
    kernels.places(layout_, lines(), h, n, out);
  }

  // A lookup, in steps: whether anything may be found at home, or elsewhere, from the home alone; whether
  // aside, from the overflow line.
  static uint32_t same_home(const Line& home, uint32_t stored) {
    return same_hash(home, stored, home_count(home));
  }
  static bool maybe_home(const Place& at) { return same_home(*at.home, at.stored) != 0; }
  static bool maybe_elsewhere(const Place& at) { return (at.home->tail & filter_bit(at.stored)) != 0; }
  static bool maybe_aside(const Place& at) { return (overflow_of(at.home)->tail & kAside) != 0; }
  // They append the ordinals of all entries there whose hash may be that of `at`.
  static void find_home(const Place& at, PodVector<uint32_t>& out);
  static void find_overflow(const Place& at, PodVector<uint32_t>& out);
  void find_aside(uint64_t h, PodVector<uint32_t>& out) const;
  // All of that.
  void find(uint64_t h, const Place& at, PodVector<uint32_t>& out) const {
    find_home(at, out);
    if (!maybe_elsewhere(at)) return;
    find_overflow(at, out);
    if (maybe_aside(at)) find_aside(h, out);
  }

  // An insert, in steps: each goes on to the next if it says false. The first one for many: LineKernels.
  static bool put_home(const Place& at, uint32_t ordinal);
  static bool put_overflow(const Place& at, uint32_t ordinal);
  void put_aside(uint64_t h, const Place& at, uint32_t ordinal, const Insertion& insertion);
  void prefetch_run(uint64_t h) const { fetch(&side_run(h)); }
  void prefetch_aside(uint64_t h) const {
    const SideSet::Run& run = side_run(h);
    for (size_t at = 0; at < std::min<size_t>(run.size(), 32); at += 4) fetch(run.data() + at);
  }
  // Counts `n` inserts that have been made, and pays for them: all places may be other ones then.
  void pay(uint32_t n, Insertion& insertion) {
    inserts_ += n;
    entries_ += n;
    if (entries_ - sides_ > limit_ || in_round_) maintain(n, insertion);
  }
  // All of that.
  void insert(uint64_t h, uint32_t ordinal, Insertion& insertion);

  uint64_t entries() const { return entries_; }
  uint64_t side_entries() const { return sides_; }
  uint64_t inserts() const { return inserts_; }
  uint64_t bytes() const;
  double load() const {
    return static_cast<double>(entries_ - sides_) / static_cast<double>(blocks_ * kBlockSlots);
  }

  // What a table takes for an entry on the average between growing and growing again.
  static double bytes_each();

 private:
  Line* lines() const { return reinterpret_cast<Line*>(pages_.data()); }
  Block* blocks() const { return reinterpret_cast<Block*>(pages_.data()); }
  bool small() const;
  static uint64_t limit_of(uint64_t blocks);
  static TableLayout layout_for(const Options& o);
  void set_limit();
  // Whether this round makes two groups of each.
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
  uint64_t blocks_ = 0;  // that are in use
  uint64_t entries_ = 0;
  uint64_t sides_ = 0;  // of these: in the side set
  uint64_t inserts_ = 0;
  uint64_t limit_ = 0;     // more entries than this in lines: something is to be done
  bool prepared_ = false;  // the memory of the next round is known
  bool in_round_ = false;
  uint64_t round_inserts_ = 0;  // since the round began
  SideSet side_;
  SideSet side_next_;  // while doubling: of groups below the frontier, by their new numbers
  Pages pages_;
};

}  // namespace doppel
