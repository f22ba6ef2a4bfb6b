#pragma once
// Which live originals list a print. The answer is exact and needs no rows, because an entry and its line
// determine all bits of the print.
//
// A hash table in one contiguous array of lines of eight entries. An entry has 32 bits of its print, its
// ordinal, and its displacement: how many lines it is behind its home. The home of a print is proportional to
// its value, so entries are nearly in the order of their prints. An entry whose home is full goes to a later
// line (print_lines.h). If many originals list a print, the lines keep a few of them, and a list aside has
// the others: they do not crowd the lines, and are counted without being read.
//
// The table grows in passes, by a sixth in each . A pass goes from the end of the
// table to its front, a few lines with every insert, and moves entries to higher lines. Prints whose old home
// is at or above the frontier have their new home, the others their old one. A pass drops dead entries; if
// many are dead, it adds no line.
//
// Threads: like CandidateIndex.

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/bytes.h"
#include "base/simd.h"
#include "index/pages.h"
#include "index/print_lines.h"
#include "sketch/prints.h"

namespace doppel {

// A print of the query that live originals list.
struct PrintListing {
  uint32_t asked = 0;           // index of the print in the query
  uint32_t count = 0;           // number of originals that list it, at most count_most
  uint32_t begin = 0, end = 0;  // range of their numbers, in any order; empty if there are more than `most`
};
struct PrintsFound {
  PodVector<PrintListing> listings;  // ascending
  PodVector<uint64_t> numbers;
  // Buffers of find().
  PodVector<PrintPlace> places;
  PodVector<PrintMatch> matches;
  PodVector<uint32_t> rest;
};

class PrintTable {
 public:
  // `fresh`: see Pages; outlives the table.
  explicit PrintTable(const FreshMemory* fresh);

  // For restoring: starts the numbers at `number` instead of 0. Only while the table is empty.
  void start_at(uint64_t number);
  // Adds the original with the next number, which lists these prints.
  void insert(std::span<const uint64_t> prints);
  void remove(uint64_t number);  // of a live original
  void revive(uint64_t number);  // of a removed original
  void expire_below(uint64_t number);

  // The number of prints that a live original lists, at most 127; 0 if it is dead.
  uint32_t prints_of(uint64_t number) const;

  // Prefetches the home of a print.
  void prefetch(uint64_t print) const { fetch(lines()[home(print)]); }
  // The same for insert(), which often continues in the next line.
  void prefetch_place(uint64_t print) const {
    const Line* at = &lines()[home(print)];
    fetch(at);
    fetch(at + 1);
  }
  // Call it when these lines have arrived. If both are full, insert() continues in the next two: prefetches
  // them.
  void prefetch_run(uint64_t print) const {
    const Line* at = &lines()[home(print)];
    if ((*at)[kPrintLineEntries - 1] == 0 || at[1][kPrintLineEntries - 1] == 0) return;
    fetch(at + 2);
    fetch(at + 3);
  }
  // Finds the originals that list these prints. Counts up to count_most of them for each print (count_most >
  // most), and returns their numbers if no more than `most` list it.
  void find(std::span<const uint64_t> prints, uint32_t most, uint32_t count_most, PrintsFound& out) const;

  uint64_t entries() const { return entries_ + aside_entries_; }
  uint64_t bytes() const;
  double load() const;
  // The average memory for an entry from one pass to the next.
  static double bytes_each();

 private:
  // All prints that have their home in one line have the same highest 12 bits.
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
    // `lines` is a multiple of 2^12, and less than 2^32.
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

  static uint64_t limit_of(uint64_t lines);
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
  uint64_t lines_next_ = kLinesUnit;  // of the layout from the frontier on
  uint64_t frontier_ = 0;             // a home of the old layout; 0 except during a pass
  uint64_t limit_ = 0;                // a pass begins when lines have more entries
  uint64_t entries_ = 0;              // in lines
  Aside aside_;
  uint64_t aside_entries_ = 0;
  std::array<uint64_t, 64> strays_{};  // filter of prints with an entry that found no room in lines
  uint64_t pass_low_ = 0;              // low_ when the last pass began
  // The entries that a pass is moving, without their displacements, and their new homes.
  PodVector<uint64_t> moving_;
  PodVector<uint32_t> homes_;
  // By home: the next free slot, for the first half of the entries and for the second.
  std::array<PodVector<uint32_t>, 2> places_;

  uint64_t low_ = 0, next_ = 0;
  uint64_t removed_ = 0;                                      // removed individually, and not expired yet
  std::deque<std::unique_ptr<std::vector<uint8_t>>> counts_;  // by number; see prints_of()
  uint64_t first_chunk_ = 0;
};

}  // namespace doppel
