#include "index/print_table.h"

#include <algorithm>
#include <bit>

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

}  // namespace doppel
