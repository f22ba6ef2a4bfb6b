#pragma once
// Which live originals list a print. Exact: entry and place say all bits of a print, so no row is asked.
//
// One contiguous array of lines of eight entries. An entry has 32 bits of its print, how many lines it is
// behind its home, and its ordinal; the home of a print is the line at its share of all lines, so entries are
// nearly in the order of their prints. What finds its home full goes to the next line that is not. A print
// that many list keeps a few of them here and the others in a list of its own, so that it is in nobody's way
// and is counted without being read.
//
// The table grows by a sixth at a time, from its end to its front, a few lines with every insert: a
// higher line only moves further up. Prints at or above the frontier have their new place, those below their
// old one. Such a pass drops what is dead; where much is dead, it adds no line.
//
// Threads: as Index.

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/pod_vector.h"
#include "index/fetch.h"
#include "index/pages.h"
#include "index/print_lines.h"
#include "sketch/prints.h"

namespace doppel {

// Those of the prints that were asked for that live originals list.
struct PrintListing {
  uint32_t asked = 0;           // which one
  uint32_t count = 0;           // how many originals list it, as far as they are counted
  uint32_t begin = 0, end = 0;  // of their numbers, in any order; none where they are too many
};
struct PrintsFound {
  PodVector<PrintListing> listings;  // ascending
  PodVector<uint64_t> numbers;
  // Used on the way.
  PodVector<PrintPlace> places;
  PodVector<PrintMatch> matches;
  PodVector<uint32_t> rest;
};

class PrintTable {
 public:
  // `fresh`: see Pages; outlives the table.
  explicit PrintTable(const FreshMemory* fresh);

  // Numbers begin here instead of at 0. Only while empty.
  void start_at(uint64_t number);
  // Originals come in the order of their numbers, without gaps. `prints`: those that it lists.
  void insert(std::span<const uint64_t> prints);
  void remove(uint64_t number);
  void revive(uint64_t number);
  void expire_below(uint64_t number);

  // How many prints a live original lists, up to 255; 0 if it is dead.
  uint32_t prints_of(uint64_t number) const;

  // Asks for the line of a print.
  void prefetch(uint64_t print) const { fetch(lines()[home(print)]); }
  // The same for insert(), which often continues in the next line.
  void prefetch_place(uint64_t print) const {
    const Line* at = &lines()[home(print)];
    fetch(at);
    fetch(at + 1);
  }
  // Later, when these are here: the lines behind them, where insert() continues if both are full.
  void prefetch_run(uint64_t print) const {
    const Line* at = &lines()[home(print)];
    if ((*at)[kPrintLineEntries - 1] == 0 || at[1][kPrintLineEntries - 1] == 0) return;
    fetch(at + 2);
    fetch(at + 3);
  }
  // Who lists these prints. Up to count_most (more than `most`) originals are counted for each, and those of
  // a print that no more than `most` list are named.
  void find(std::span<const uint64_t> prints, uint32_t most, uint32_t count_most, PrintsFound& out) const;

  uint64_t entries() const { return entries_ + aside_entries_; }
  uint64_t bytes() const;
  double load() const;
  // What a print takes on the average between growing and growing again.
  static double bytes_each();

 private:
  // Each line's prints have their highest 12 bits in common.
  static constexpr uint64_t kLinesUnit = uint64_t{1} << (kPrintBits - 32);
  static constexpr uint64_t kSpareLines = kPrintBehindMost + 1;  // behind the last home
  static constexpr int kChunkBits = 16;

  using Line = PrintLine;
  using Aside = absl::flat_hash_map<uint64_t, PodVector<uint32_t>>;
  struct Entry {
    uint64_t print;
    uint64_t ordinal;
  };

  Line* lines() const { return reinterpret_cast<Line*>(pages_->data()); }
  bool full(uint64_t line) const { return lines()[line][kPrintLineEntries - 1] != 0; }
  static uint64_t home_in(uint64_t print, uint64_t lines) {
    // The lines are a multiple of 2^12, and there are fewer than 2^32.
    return (print >> 32) * (lines / kLinesUnit) + ((print & 0xffffffff) * (lines / kLinesUnit) >> 32);
  }
  uint64_t home(uint64_t print) const {
    const uint64_t old = home_in(print, lines_);
    return old < frontier_ ? old : home_in(print, lines_next_);
  }
  static uint64_t print_of(uint64_t entry, uint64_t home, uint64_t lines) {
    return home / (lines / kLinesUnit) << 32 | entry >> 32;
  }
  uint64_t number_of(uint64_t ordinal) const { return low_ + ((ordinal - low_) & kPrintOrdinalMask); }
  bool live(uint64_t ordinal) const {
    const uint64_t number = number_of(ordinal);
    return removed_ == 0 ? number - low_ < next_ - low_ : prints_of(number) != 0;
  }
  uint8_t& flags_of(uint64_t number) {
    return (*counts_[(number >> kChunkBits) - first_chunk_])[number & ((uint64_t{1} << kChunkBits) - 1)];
  }

  PrintPut put(uint64_t print, uint64_t ordinal);
  void put_aside(const Entry& entry);
  void put_stray(const Entry& entry);
  bool may_stray(uint64_t print) const { return (strays_[print >> 6 & 63] >> (print & 63) & 1) != 0; }
  void find_aside(uint64_t print, uint32_t most, uint32_t count_most, uint32_t& count,
                  PodVector<uint64_t>& out) const;
  void enter(uint64_t print, uint64_t ordinal);
  void clean_aside(uint64_t print);
  bool take_from_aside(uint64_t print, uint64_t& ordinal);
  bool mostly_live() const;
  void begin_pass();
  void step(uint64_t lines);
  void take_lines(uint64_t begin, uint64_t end);
  size_t take_line(uint64_t at, uint64_t* entries, uint32_t* homes);
  void place_moving();
  void move_entry(const Entry& entry);

  const FreshMemory* fresh_;
  std::unique_ptr<Pages> pages_;
  uint64_t lines_ = kLinesUnit;       // of the layout below the frontier
  uint64_t lines_next_ = kLinesUnit;  // of the one from it on
  uint64_t frontier_ = 0;             // a home of the first layout; 0 but during a pass
  uint64_t limit_ = 0;                // more entries than this in lines: a pass begins
  uint64_t entries_ = 0;              // in lines
  Aside aside_;
  uint64_t aside_entries_ = 0;
  std::array<uint64_t, 64> strays_{};  // bits of prints of which some found no room in lines
  uint64_t pass_low_ = 0;              // low_ when the last pass began
  // Entries on their way to other lines, without how far they are behind, and their new homes.
  PodVector<uint64_t> moving_;
  PodVector<uint32_t> homes_;
  std::array<PodVector<uint32_t>, 2> places_;  // by home, of the first half of them and of the second

  uint64_t low_ = 0, next_ = 0;
  uint64_t removed_ = 0;                                      // one by one, and not expired yet
  std::deque<std::unique_ptr<std::vector<uint8_t>>> counts_;  // by number; see prints_of()
  uint64_t first_chunk_ = 0;
};

}  // namespace doppel
