#include "index/print_table.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.h"
#include "base/simd.h"

namespace doppel {
namespace {

constexpr uint64_t kStepLines = 4;  // lines that a pass moves for every entry that is inserted meanwhile
constexpr uint64_t kReserved = uint64_t{48} << 30;  // bytes of address space
// After this many expired numbers, a pass drops their entries.
constexpr uint64_t kAgeMost = uint64_t{1} << 26;
constexpr uint8_t kRemoved = 0x80, kCount = 0x7f;  // bits of an original's byte in counts_

}  // namespace

PrintTable::PrintTable(const FreshMemory* fresh) : fresh_(fresh), limit_(limit_of(kLinesUnit)) {
  const size_t least = (kLinesUnit + kSpareLines) * sizeof(Line);
  pages_ = std::make_unique<Pages>(kReserved, least, kHugePage);
  pages_->require(least);
}

void PrintTable::start_at(uint64_t number) {
  DOPPEL_CHECK(low_ == next_, "numbers begin elsewhere only while there are none", low_, next_, number);
  counts_.clear();
  low_ = next_ = pass_low_ = number;
  first_chunk_ = number >> kChunkBits;
}

uint32_t PrintTable::prints_of(uint64_t number) const {
  if (number - low_ >= next_ - low_) return 0;
  const uint8_t flags =
      (*counts_[(number >> kChunkBits) - first_chunk_])[number & ((uint64_t{1} << kChunkBits) - 1)];
  return (flags & kRemoved) != 0 ? 0 : flags;
}

void PrintTable::insert(std::span<const uint64_t> prints) {
  const uint64_t number = next_++;
  if ((number >> kChunkBits) - first_chunk_ >= counts_.size())
    counts_.push_back(std::make_unique<std::vector<uint8_t>>(uint64_t{1} << kChunkBits));
  flags_of(number) = static_cast<uint8_t>(std::min<size_t>(prints.size(), kCount));
  for (const uint64_t print : prints) enter(print, number & kPrintOrdinalMask);
  if (frontier_ == 0 && (entries_ > limit_ || low_ - pass_low_ > kAgeMost)) begin_pass();
  if (frontier_ != 0) step(kStepLines * prints.size() + 1);
}

void PrintTable::remove(uint64_t number) {
  DOPPEL_CHECK(number >= low_ && number < next_ && (flags_of(number) & kRemoved) == 0,
               "an original that is removed is live", number, low_, next_);
  flags_of(number) |= kRemoved;
  ++removed_;
}

void PrintTable::revive(uint64_t number) {
  flags_of(number) &= kCount;
  --removed_;
}

void PrintTable::expire_below(uint64_t number) {
  number = std::min(number, next_);
  if (removed_ != 0) {
    for (uint64_t n = low_; n < number; ++n) removed_ -= (flags_of(n) & kRemoved) != 0 ? 1 : 0;
  }
  low_ = std::max(low_, number);
  for (; first_chunk_ < low_ >> kChunkBits && !counts_.empty(); ++first_chunk_) counts_.pop_front();
  if (counts_.empty()) first_chunk_ = low_ >> kChunkBits;
}

void PrintTable::find(std::span<const uint64_t> prints, uint32_t most, uint32_t count_most,
                      PrintsFound& out) const {
  out.listings.clear();
  out.numbers.clear();
  out.places.resize(prints.size());
  out.rest.resize(2 * (prints.size() + 8));
  out.matches.resize(kPrintSameMost * prints.size() + 8);
  bool strays = false;
  for (size_t i = 0; i < prints.size(); ++i) {
    out.places[i] = {&lines()[home(prints[i])], prints[i]};
    strays |= may_stray(prints[i]);
  }
  const size_t found = print_line_kernels_for(simd_level())
                           .find(out.places.data(), prints.size(), out.rest.data(), out.matches.data());
  const std::span<PrintMatch> matches(out.matches.data(), found);
  if (found > 1)
    std::sort(matches.begin(), matches.end(), [](const PrintMatch& a, const PrintMatch& b) {
      return a.asked != b.asked ? a.asked < b.asked : a.ordinal < b.ordinal;
    });
  const auto list = [&](uint32_t asked, std::span<const PrintMatch> of_one) {
    PrintListing listing{.asked = asked, .begin = static_cast<uint32_t>(out.numbers.size())};
    for (const PrintMatch& match : of_one) {
      const uint64_t number = number_of(match.ordinal);
      if (prints_of(number) == 0) continue;
      ++listing.count;
      out.numbers.push_back(number);
    }
    if (of_one.size() >= kPrintSameMost || may_stray(prints[asked]))
      find_aside(prints[asked], most, count_most, listing.count, out.numbers);
    if (listing.count > most) out.numbers.resize(listing.begin);
    listing.count = std::min(listing.count, count_most);
    listing.end = static_cast<uint32_t>(out.numbers.size());
    if (listing.count != 0) out.listings.push_back(listing);
  };
  size_t match = 0;
  const auto next = [&] {
    size_t end = match;
    while (end < found && matches[end].asked == matches[match].asked) ++end;
    const auto of_one = matches.subspan(match, end - match);
    match = end;
    return of_one;
  };
  if (!strays) {
    while (match < found) {
      const uint32_t asked = matches[match].asked;
      list(asked, next());
    }
  } else {
    for (uint32_t asked = 0; asked < prints.size(); ++asked)
      list(asked, match < found && matches[match].asked == asked ? next() : std::span<PrintMatch>());
  }
}

void PrintTable::find_aside(uint64_t print, uint32_t most, uint32_t count_most, uint32_t& count,
                            PodVector<uint64_t>& out) const {
  const auto aside = aside_.find(print);
  if (aside == aside_.end()) return;
  const PodVector<uint32_t>& all = aside->second;
  if (removed_ == 0 && !may_stray(print)) {
    // Ordinals ascend, so the expired ones come first.
    const auto from = std::partition_point(
        all.begin(), all.end(), [&](uint32_t ordinal) { return number_of(ordinal) - low_ >= next_ - low_; });
    count += static_cast<uint32_t>(all.end() - from);
    for (auto at = from; at != all.end() && count <= most; ++at) out.push_back(number_of(*at));
    return;
  }
  for (auto at = all.rbegin(); at != all.rend() && count < count_most; ++at) {
    if (!live(*at)) continue;
    ++count;
    if (count <= most) out.push_back(number_of(*at));
  }
}

PrintPut PrintTable::put(uint64_t print, uint64_t ordinal) {
  const uint64_t at = home(print);
  uint64_t out = 0;
  ptrdiff_t out_home = 0;
  const PrintPut how =
      print_line_kernels_for(simd_level()).put(&lines()[at], print << 32 | ordinal, out, out_home);
  if (how != PrintPut::moved_out) return how;
  const uint64_t its_home = at + static_cast<uint64_t>(out_home);
  put_stray({print_of(out, its_home, its_home < frontier_ ? lines_ : lines_next_), out & kPrintOrdinalMask});
  --entries_;
  return PrintPut::done;
}

void PrintTable::put_stray(const Entry& entry) {
  strays_[entry.print >> 6 & 63] |= uint64_t{1} << (entry.print & 63);
  put_aside(entry);
}

void PrintTable::put_aside(const Entry& entry) {
  aside_[entry.print].push_back(static_cast<uint32_t>(entry.ordinal));
  ++aside_entries_;
}

void PrintTable::enter(uint64_t print, uint64_t ordinal) {
  const PrintPut how = put(print, ordinal);
  if (how == PrintPut::done || how == PrintPut::last_of_same) {
    ++entries_;
    return;
  }
  if (how == PrintPut::no_room) {
    put_stray({print, ordinal});
  } else {
    put_aside({print, ordinal});
  }
  const size_t all = aside_.find(print)->second.size();
  if (all >= 8 && std::has_single_bit(all)) clean_aside(print);
}

// Removes the dead entries of a frequent print. Otherwise lookups would go through them for ever.
void PrintTable::clean_aside(uint64_t print) {
  const auto aside = aside_.find(print);
  if (aside == aside_.end()) return;
  aside_entries_ -= std::erase_if(aside->second, [&](uint32_t ordinal) { return !live(ordinal); });
  if (aside->second.empty()) aside_.erase(aside);
}

uint64_t PrintTable::bytes() const {
  return (lines_next_ + kSpareLines) * sizeof(Line) + aside_entries_ * sizeof(uint32_t) +
         aside_.capacity() * (sizeof(uint64_t) + sizeof(PodVector<uint32_t>) + 1) + (next_ - low_);
}

double PrintTable::load() const {
  return static_cast<double>(entries_) / static_cast<double>(lines_next_ * kPrintLineEntries);
}

// How a table of prints grows and drops dead entries: passes from its end to its front.

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
