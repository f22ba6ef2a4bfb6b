#include "index/line_table.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace doppel {
namespace {

constexpr uint64_t kBaseLeast = 8;  // of a table that is not small
constexpr double kLoad = 0.81;      // share of slots in use at which a table starts to grow

}  // namespace

uint64_t LineTable::limit_of(uint64_t blocks) {
  return static_cast<uint64_t>(static_cast<double>(blocks * kBlockSlots) * kLoad);
}

// The smallest layout with enough room that a table of this phase goes through.
TableLayout LineTable::layout_for(const Options& o) {
  TableLayout layout;
  while (layout.base < kBaseLeast && limit_of(layout.base * kBlocksLeast) < o.entries) layout.base *= 2;
  if (layout.base < kBaseLeast) return layout;
  layout.base = static_cast<uint64_t>(std::lround(std::exp2(o.phase) * static_cast<double>(kBaseLeast)));
  while (limit_of(layout.base * (kBlocksMost - 1)) < o.entries && layout.base * 2 < TableLayout::kBaseMost)
    layout.base *= 2;
  uint32_t blocks = kBlocksLeast;
  while (blocks + 1 < kBlocksMost && limit_of(layout.base * blocks) < o.entries) ++blocks;
  layout.rule[0].blocks = layout.rule[1].blocks = blocks;
  return layout;
}

LineTable::LineTable(const Options& options)
    : options_(options),
      layout_(layout_for(options)),
      blocks_(layout_.groups() * layout_.rule[0].blocks),
      side_(layout_.groups()),
      pages_(std::max(blocks_ * sizeof(Block) * (small() ? 1 : 2),
                      small() ? 0 : options.entries_max / 7 * sizeof(Line)),
             blocks_ * sizeof(Block), kHugePage) {
  pages_.require(blocks_ * sizeof(Block));
  set_limit();
}

bool LineTable::small() const { return layout_.base < kBaseLeast; }
// The limit is a little lower until prepare_round() has run.
void LineTable::set_limit() {
  limit_ = limit_of(blocks_);
  prepared_ = small();
  if (!prepared_) limit_ -= limit_ / 100;
}

uint64_t LineTable::bytes() const {
  const uint64_t bytes = std::max(blocks_ * sizeof(Block), pages_.announced());
  const uint64_t rest = bytes > kHugePage ? kHugePage - 1 : 4095;
  return ((bytes + rest) & ~rest) + sides_ * 20 + side_.bytes() + side_next_.bytes();
}

double LineTable::bytes_each() {
  // From n - 1 to n blocks in a group, entries grow in the same proportion: n / size, averaged over the
  // logarithm of the size.
  double sum = 0;
  for (uint32_t n = kBlocksLeast + 1; n <= kBlocksMost; ++n) {
    const double before = n - 1;
    sum += n / before - 1;
  }
  constexpr double kSides = 0.1;
  return sizeof(Block) / (kBlockSlots * kLoad) * sum / std::log(2) + kSides;
}

void LineTable::find_home(const Place& at, PodVector<uint32_t>& out) {
  for (uint32_t same = same_home(*at.home, at.stored); same != 0; same &= same - 1)
    out.push_back(ordinal_at(*at.home, static_cast<uint32_t>(__builtin_ctz(same))));
}

void LineTable::find_overflow(const Place& at, PodVector<uint32_t>& out) {
  const Line& overflow = *overflow_of(at.home);
  const uint32_t home = home_number(at.home);
  uint32_t same = same_hash(overflow, at.stored, overflow_count(overflow));
  for (; same != 0; same &= same - 1) {
    const auto slot = static_cast<uint32_t>(__builtin_ctz(same));
    if (overflow_home(overflow, slot) == home) out.push_back(ordinal_at(overflow, slot));
  }
}

void LineTable::find_aside(uint64_t h, PodVector<uint32_t>& out) const {
  const std::span<const SideSet::Entry> equals = SideSet::equals(side_run(h), h);
  const size_t before = out.size();
  out.resize(before + equals.size());
  for (size_t i = 0; i < equals.size(); ++i) out[before + i] = equals[i].ordinal;
}

bool LineTable::put_home(const Place& at, uint32_t ordinal) {
  Line& home = *at.home;
  if (home_count(home) >= kSlots || count_bits(same_home(home, at.stored)) >= kSameMax) return false;
  put_in_home(home, at.stored, ordinal);
  return true;
}

bool LineTable::put_overflow(const Place& at, uint32_t ordinal) {
  if (home_count(*at.home) < kSlots) return false;  // full of its equals
  Line& overflow = *overflow_of(at.home);
  const uint32_t count = overflow_count(overflow);
  const uint32_t same =
      count_bits(same_home(*at.home, at.stored)) + count_bits(same_hash(overflow, at.stored, count));
  if (count >= kOverflowSlots || same >= kSameMax) return false;
  put_in_overflow(*at.home, overflow, at.stored, ordinal);
  return true;
}

void LineTable::put_aside(uint64_t h, const Place& at, uint32_t ordinal, const Insertion& insertion) {
  at.home->tail |= filter_bit(at.stored);
  overflow_of(at.home)->tail |= kAside;
  SideSet::Run& run = side_run(h);
  SideSet::insert(run, {h, ordinal});
  ++sides_;
  // Lookups of a hot key would go through its dead entries for ever, so they are removed from time to time.
  const size_t equals = SideSet::equals(run, h).size();
  if (equals < 8 || !std::has_single_bit(equals)) return;
  const uint64_t dead = std::erase_if(run, [&](const SideSet::Entry& entry) {
    return entry.h == h && !insertion.source->alive(entry.ordinal);
  });
  sides_ -= dead;
  entries_ -= dead;
}

void LineTable::insert(uint64_t h, uint32_t ordinal, Insertion& insertion) {
  const Place at = place(h);
  if (!put_home(at, ordinal) && !put_overflow(at, ordinal)) put_aside(h, at, ordinal, insertion);
  pay(1, insertion);
}

}  // namespace doppel
