// How a table of prints grows and drops dead entries: passes from its end to its front.

#include <algorithm>
#include <cstring>

#include "base/simd.h"
#include "index/print_table.h"

namespace doppel {
namespace {

// A fuller table takes less memory, but an insert passes more full lines. Smaller steps of growth move
// entries more often.
constexpr double kFull = 0.88;           // share of slots in use at which a pass begins
constexpr uint64_t kGrowth = 6;          // a pass adds a sixth of the lines
constexpr size_t kLead = kHugePage / 2;  // bytes that are announced ahead

}  // namespace

uint64_t PrintTable::limit_of(uint64_t lines) {
  return static_cast<uint64_t>(static_cast<double>(lines * kPrintLineEntries) * kFull);
}

// Takes a live original from the list aside, to replace a dead entry in a line: find() reads the list only if
// the lines have kPrintSameMost entries of the print.
bool PrintTable::take_from_aside(uint64_t print, uint64_t& ordinal) {
  if (aside_.empty()) return false;
  const auto aside = aside_.find(print);
  if (aside == aside_.end()) return false;
  clean_aside(print);
  const auto left = aside_.find(print);
  if (left == aside_.end()) return false;
  ordinal = left->second.back();
  left->second.pop_back();
  --aside_entries_;
  if (left->second.empty()) aside_.erase(left);
  return true;
}

// Whether growing helps more than cleaning: samples 64 lines, evenly spread.
bool PrintTable::mostly_live() const {
  uint64_t all = 0, alive = 0;
  for (uint64_t i = 0; i < 64; ++i) {
    for (const uint64_t entry : lines()[lines_ * i / 64]) {
      all += entry != 0 ? 1 : 0;
      alive += entry != 0 && live(entry & kPrintOrdinalMask) ? 1 : 0;
    }
  }
  return alive * 5 > all * 4;
}

void PrintTable::begin_pass() {
  lines_next_ = lines_;
  if (entries_ > limit_ && mostly_live())
    lines_next_ += std::max(kLinesUnit, lines_ / kGrowth / kLinesUnit * kLinesUnit);
  // No more room: further entries go aside.
  if (!pages_->grow((lines_next_ + kSpareLines) * sizeof(Line))) lines_next_ = lines_;
  frontier_ = lines_;
  pass_low_ = low_;
}

// Empties a line. Writes its live entries and their new homes, and returns their number. If the list aside
// has a live original of the same print, this replaces a dead entry.
size_t PrintTable::take_line(uint64_t at, uint64_t* entries, uint32_t* homes) {
  const uint64_t unit = lines_ / kLinesUnit, unit_next = lines_next_ / kLinesUnit;
  const uint64_t top = at / unit;  // highest bits of the prints whose old home is this line
  Line& line = lines()[at];
  size_t out = 0;
  for (const uint64_t entry : line) {
    if (entry == 0) break;
    --entries_;
    const uint64_t home = at - print_behind(entry);
    uint64_t its_top = top;
    if (home >= frontier_) {
      its_top = home / unit_next;
    } else {
      while (home < its_top * unit) --its_top;
    }
    uint64_t ordinal = entry & kPrintOrdinalMask;
    if (!live(ordinal) && !take_from_aside(its_top << 32 | entry >> 32, ordinal)) continue;
    entries[out] = entry >> 32 << 32 | ordinal;
    homes[out++] = static_cast<uint32_t>(its_top * unit_next + ((entry >> 32) * unit_next >> 32));
  }
  std::memset(static_cast<void*>(&line), 0, sizeof(Line));
  return out;
}

void PrintTable::take_lines(uint64_t begin, uint64_t end) {
  const PrintLineKernels& kernels = print_line_kernels_for(simd_level());
  const PrintTaking taking{.unit = lines_ / kLinesUnit,
                           .unit_next = lines_next_ / kLinesUnit,
                           .low = low_ & kPrintOrdinalMask,
                           .live = next_ - low_};
  moving_.resize((end - begin + 1) * kPrintLineEntries);
  homes_.resize(moving_.size());
  size_t moving = 0;
  for (uint64_t at = begin; at < end; ++at) {
    if (at < frontier_ && removed_ == 0 && taking.unit > kPrintBehindMost) {
      size_t taken = 0;
      at += kernels.take(lines() + at, std::min(end, frontier_) - at, at, taking, &moving_[moving],
                         &homes_[moving], taken);
      moving += taken;
      entries_ -= taken;
      if (at == end) break;
    }
    moving += take_line(at, &moving_[moving], &homes_[moving]);
  }
  moving_.resize(moving);
  homes_.resize(moving);
}

// Puts the moving entries into their new lines, by ascending home: each gets the first free slot from its
// home on. So the lines are filled one after the other, up to the lines of earlier steps; entries for those
// are entered one by one. Both halves of the entries are counted and placed alternately: neighbours often
// have the same home, and would wait for each other.
void PrintTable::place_moving() {
  const size_t n = moving_.size(), half = n / 2;
  if (n == 0) return;
  uint32_t low = homes_.front(), high = low;
  for (const uint32_t home : homes_) {
    low = std::min(low, home);
    high = std::max(high, home);
  }
  const size_t range = size_t{high} - low + 1;
  for (PodVector<uint32_t>& places : places_) places.assign(range, 0);
  uint32_t* const first = places_[0].data();
  uint32_t* const second = places_[1].data();
  for (size_t i = 0; i < half; ++i) {
    ++first[homes_[i] - low];
    ++second[homes_[half + i] - low];
  }
  if (n % 2 != 0) ++second[homes_[n - 1] - low];
  uint64_t empty = low;  // lines from `low` on are empty up to here
  uint64_t next = 0;     // free slot, counted from the line `low` on
  size_t homes = 0;      // homes whose entries have their slots
  for (; homes < range; ++homes) {
    const uint64_t count = first[homes] + second[homes];
    next = std::max<uint64_t>(next, homes * kPrintLineEntries);
    const uint64_t end = low + (next + count + kPrintLineEntries - 1) / kPrintLineEntries;
    while (empty < end && lines()[empty][0] == 0) ++empty;
    if (empty < end || end - 1 - (low + homes) > kPrintBehindMost) break;
    second[homes] = static_cast<uint32_t>(next + first[homes]);
    first[homes] = static_cast<uint32_t>(next);
    next += count;
  }
  uint64_t* const slots = *(lines() + low);
  const auto place = [&](size_t i, uint32_t* places) {
    const uint64_t home = homes_[i] - low;
    if (home >= homes) return;
    const uint32_t at = places[home]++;
    slots[at] = moving_[i] | (at / kPrintLineEntries - home) << kPrintOrdinalBits;
  };
  for (size_t i = 0; i < half; ++i) {
    place(i, first);
    place(half + i, second);
  }
  if (n % 2 != 0) place(n - 1, second);
  entries_ += n;
  if (homes == range) return;
  for (size_t i = 0; i < n; ++i) {
    if (homes_[i] - low < homes) continue;
    --entries_;
    move_entry({print_of(moving_[i], homes_[i], lines_next_), moving_[i] & kPrintOrdinalMask});
  }
}

void PrintTable::move_entry(const Entry& entry) {
  const PrintPut how = put(entry.print, entry.ordinal);
  if (how == PrintPut::done || how == PrintPut::last_of_same) {
    ++entries_;
  } else if (how == PrintPut::no_room) {
    put_stray(entry);
  } else {
    put_aside(entry);
  }
}

// Moves the frontier down by `count` lines, and further past full lines. So it never comes between an entry
// and its home, because all lines between the two are full.
void PrintTable::step(uint64_t count) {
  const uint64_t end = frontier_;
  uint64_t begin = end > count ? end - count : 0;
  while (begin > 0 && full(begin - 1)) --begin;
  const uint64_t all = lines_next_ + kSpareLines;
  uint64_t last = end;
  if (full(end - 1)) {
    while (last < all && full(last)) ++last;
    last = std::min(last + 1, all);
  }
  take_lines(begin, last);
  frontier_ = begin;
  place_moving();
  if (fresh_ != nullptr && *fresh_) pages_->ahead(lines_ * sizeof(Line), kLead, *fresh_);
  if (frontier_ != 0) return;
  lines_ = lines_next_;
  limit_ = std::max(limit_of(lines_), entries_ + entries_ / 32);
}

// A pass lowers the load from kFull by the growth, then inserts raise it to kFull: takes the mean.
double PrintTable::bytes_each() {
  const double low = kFull * static_cast<double>(kGrowth) / (kGrowth + 1);
  return 8 / ((kFull + low) / 2);
}

}  // namespace doppel
