#include "index/line_table.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/check.h"

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

void remove_repeats(PodVector<uint32_t>& ordinals, PodVector<uint32_t>& scratch) {
  const size_t n = ordinals.size();
  uint32_t* p = ordinals.data();
  size_t kept = 0;
  if (n <= 24) {
    for (size_t i = 0; i < n; ++i) {
      if (std::find(p, p + kept, p[i]) == p + kept) p[kept++] = p[i];
    }
  } else {
    const size_t slots = std::bit_ceil(2 * n);
    constexpr uint32_t kNone = ~uint32_t{0};  // ordinals have at most 28 bits
    scratch.assign(slots, kNone);
    for (size_t i = 0; i < n; ++i) {
      size_t at = (p[i] * uint64_t{0x9e3779b97f4a7c15u} >> 40) & (slots - 1);
      while (scratch[at] != kNone && scratch[at] != p[i]) at = (at + 1) & (slots - 1);
      if (scratch[at] == p[i]) continue;
      scratch[at] = p[i];
      p[kept++] = p[i];
    }
  }
  ordinals.resize(kept);
}

// How a table grows and removes expired entries: rounds through its groups.

namespace {

constexpr double kRound = 0.03;  // inserts during a round, relative to the entries at its start
// If the group number contains this many bits of the units, a round takes other bits from the rows.
constexpr int kSaidMost = 7;
constexpr size_t kLead = kHugePage / 2;  // bytes that are announced ahead

}  // namespace

void LineTable::maintain(uint32_t inserts, Insertion& insertion) {
  if (!prepared_) return prepare_round(insertion);
  if (!in_round_) start_round(insertion);
  if (!in_round_) return;
  round_inserts_ += inserts;
  go_on(insertion);
}

// Some inserts before the table is full, reserves one more block for each group.
void LineTable::prepare_round(const Insertion& insertion) {
  prepared_ = true;
  limit_ = limit_of(blocks_);
  if (pages_.grow((blocks_ + layout_.groups()) * sizeof(Block))) {
    if (insertion.fresh != nullptr) pages_.ahead(blocks_ * sizeof(Block), kLead, *insertion.fresh);
  } else {
    limit_ = ~uint64_t{0};  // no more room: further entries go to the side set
  }
}

void LineTable::start_round(Insertion& insertion) {
  TableLayout::Rule next = layout_.rule[0];
  if (!insertion.expired || mostly_live(insertion.window)) {
    if (small()) return make_larger(insertion);
    if (next.blocks == kBlocksLeast && layout_.depth - next.window >= kSaidMost) next.window = layout_.depth;
    ++next.blocks;
  }
  layout_.rule[1] = next;
  in_round_ = true;
  round_inserts_ = 0;
}

void LineTable::go_on(Insertion& insertion) {
  const auto groups = static_cast<double>(layout_.groups());
  const double share = static_cast<double>(round_inserts_) / (static_cast<double>(limit_) * kRound);
  const auto due = static_cast<uint64_t>(std::min(groups, groups * share + 1));
  while (layout_.frontier < due && insertion.moved + kGroupSlots <= insertion.moved_max)
    rebuild(layout_.frontier, insertion);
  if (insertion.fresh != nullptr) pages_.ahead(blocks_ * sizeof(Block), kLead, *insertion.fresh);
  if (layout_.frontier == layout_.groups()) finish_round();
}

void LineTable::finish_round() {
  layout_.frontier = 0;
  layout_.rule[0] = layout_.rule[1];
  DOPPEL_CHECK(blocks_ == layout_.groups() * layout_.rule[0].blocks, "all groups have as many blocks",
               blocks_, layout_.groups(), layout_.rule[0].blocks);
  if (layout_.rule[0].blocks == kBlocksMost) {
    layout_.rule[0].blocks = layout_.rule[1].blocks = kBlocksLeast;
    ++layout_.depth;
    side_ = std::move(side_next_);
    side_next_ = SideSet();
  }
  in_round_ = false;
  set_limit();
}

void LineTable::rebuild(uint64_t group, Insertion& insertion) {
  const TableLayout::Rule& now = layout_.rule[0];
  const TableLayout::Rule& next = layout_.rule[1];
  Rebuild r;
  r.blocks = now.blocks;
  r.blocks_next = next.blocks;
  r.free = layout_.free_bits(now);
  r.origin = static_cast<uint32_t>(group << r.free);
  r.window = insertion.window;
  bool aside = false;
  for (uint32_t j = 0; j < next.blocks; ++j) r.block[j] = blocks() + layout_.block_at(group, j);
  for (uint32_t j = 0; j < now.blocks; ++j) aside |= (r.block[j]->line[kHomes].tail & kAside) != 0;
  if (next.blocks > now.blocks) {
    DOPPEL_CHECK(r.block[now.blocks] == blocks() + blocks_, "a new block is the one after the last", group,
                 now.blocks, blocks_);
    ++blocks_;
  }
  if (group + 1 < layout_.groups()) {
    for (uint32_t j = 0; j < now.blocks; ++j) {
      const Block* block = blocks() + layout_.block_at(group + 1, j);
      for (const Line& line : block->line) fetch(&line);
    }
  }
  if (now.window != next.window) {
    rehash(group, r, insertion);
  } else {
    rebuild_group_for(simd_level())(r);
  }
  insertion.moved += r.moved;
  DOPPEL_CHECK(r.dropped + r.loose <= entries_ - sides_, "a table counts the entries of its lines", r.dropped,
               r.loose, entries_, sides_);
  entries_ -= r.dropped;
  layout_.frontier = group + 1;
  if (doubling()) side_next_.cover(2 * group + 2);
  for (uint32_t i = 0; i < r.loose; ++i) {
    const uint32_t ordinal = r.loose_entries[i].ordinal;
    const uint64_t h = insertion.source->hash_of(insertion.kind, ordinal);
    const Place at = place(h);
    // If this fails, the row is gone and another row has its ordinal.
    if (at.home == r.loose_entries[i].home && at.stored == r.loose_entries[i].stored)
      put_aside(h, at, ordinal, insertion);
    else
      --entries_;
  }
  if (aside) settle(group, insertion);
}

// Rebuilds a group whose entries must store other bits of the hash, which only the rows know.
void LineTable::rehash(uint64_t group, Rebuild& r, const Insertion& insertion) {
  Standing entries[kGroupSlots];
  uint32_t n = 0;
  for (uint32_t j = 0; j < r.blocks; ++j) {
    n += standing_in(*r.block[j], static_cast<uint8_t>(j), entries + n);
    *r.block[j] = Block{};
  }
  for (uint32_t i = 0; i < n; ++i) insertion.source->prefetch(insertion.kind, entries[i].ordinal);
  for (uint32_t i = 0; i < n; ++i) {
    const Standing& e = entries[i];
    ++r.dropped;
    if (!insertion.window.contains(e.ordinal)) continue;
    const uint64_t h = insertion.source->hash_of(insertion.kind, e.ordinal);
    const uint64_t spread = layout_.spread(h);
    if (layout_.group(h) != group || layout_.home(h) != e.home ||
        (TableLayout::unit(spread, layout_.rule[0].window) & kStoredMask) != e.stored)
      continue;  // the row is gone, and another row has its ordinal
    --r.dropped;
    ++r.moved;
    const uint32_t unit = TableLayout::unit(spread, layout_.rule[1].window);
    const Place at{r.block[layout_.block(unit, layout_.rule[1])]->line + e.home, unit & kStoredMask};
    if (!put_home(at, e.ordinal) && !put_overflow(at, e.ordinal))
      r.loose_entries[r.loose++] = {at.home, at.stored, e.ordinal};
  }
}

// Places a group's entries of the side set in the new blocks, or sets their flags there.
void LineTable::settle(uint64_t group, Insertion& insertion) {
  SideSet::Run& run = side_.run(group);
  const auto first = std::partition_point(
      run.begin(), run.end(), [&](const SideSet::Entry& e) { return layout_.group(e.h) < group; });
  const auto last = std::partition_point(
      first, run.end(), [&](const SideSet::Entry& e) { return layout_.group(e.h) == group; });
  const auto from = static_cast<size_t>(first - run.begin());
  const auto to = static_cast<size_t>(last - run.begin());
  const size_t kept = settle_entries(run, from, to, insertion);
  const auto at = [&](size_t i) { return run.begin() + static_cast<ptrdiff_t>(i); };
  if (doubling()) {
    SideSet::Run& next = side_next_.run(2 * group);
    next.insert(next.end(), at(from), at(kept));
    std::sort(next.begin(), next.end());
    run.erase(at(from), at(to));
  } else {
    run.erase(at(kept), at(to));
  }
  if (run.empty()) SideSet::Run().swap(run);
}

// Places the entries [from, to) of a run. Returns the end of the entries that stay in the run.
size_t LineTable::settle_entries(SideSet::Run& run, size_t from, size_t to, Insertion& insertion) {
  size_t kept = from;
  for (size_t i = from; i < to;) {
    const uint64_t h = run[i].h;
    const Place at = place(h);
    for (; i < to && run[i].h == h; ++i) {
      const SideSet::Entry entry = run[i];
      if (!insertion.window.contains(entry.ordinal)) {
        --sides_;
        --entries_;
      } else if (home_count(*at.home) < kSlots && insertion.moved < insertion.moved_max &&
                 count_bits(same_home(*at.home, at.stored)) < kSameMax / 2) {
        put_in_home(*at.home, at.stored, entry.ordinal);
        --sides_;
        ++insertion.moved;
      } else {
        at.home->tail |= filter_bit(at.stored);
        overflow_of(at.home)->tail |= kAside;
        run[kept++] = entry;
      }
    }
  }
  return kept;
}

// Rebuilds a small table at about twice the size, from the rows.
void LineTable::make_larger(Insertion& insertion) {
  if (insertion.moved + entries_ - sides_ > insertion.moved_max) return;  // a later insert will do it
  Options options = options_;
  options.entries = limit_ + 1;
  LineTable larger(options);
  larger.inserts_ = inserts_;
  for (const SideSet::Run& run : side_.runs()) {
    for (const SideSet::Entry& entry : run) larger.side_run(entry.h).push_back(entry);
  }
  larger.sides_ = larger.entries_ = sides_;
  Standing entries[kBlockSlots];
  for (uint64_t b = 0; b < blocks_; ++b) {
    const uint32_t n = standing_in(blocks()[b], 0, entries);
    for (uint32_t i = 0; i < n; ++i) {
      const uint32_t ordinal = entries[i].ordinal;
      if (!insertion.window.contains(ordinal)) continue;
      const uint64_t h = insertion.source->hash_of(insertion.kind, ordinal);
      const Place old = place(h);
      if (old.home - lines() != static_cast<ptrdiff_t>(b * kBlockLines + entries[i].home) ||
          old.stored != entries[i].stored)
        continue;  // the row is gone, and another row has its ordinal
      ++insertion.moved;
      const Place at = larger.place(h);
      ++larger.entries_;
      if (!put_home(at, ordinal) && !put_overflow(at, ordinal)) larger.put_aside(h, at, ordinal, insertion);
    }
  }
  for (uint64_t group = 0; group < larger.layout_.groups(); ++group) larger.settle(group, insertion);
  *this = std::move(larger);
}

// Whether growing helps more than cleaning: samples 64 lines, evenly spread.
bool LineTable::mostly_live(const OrdinalWindow& window) const {
  uint64_t live = 0;
  uint64_t all = 0;
  for (uint64_t i = 0; i < 64; ++i) {
    const Line& home = blocks()[blocks_ * i / 64].line[i % kHomes];
    for (uint32_t slot = 0; slot < home_count(home); ++slot) {
      ++all;
      live += window.contains(ordinal_at(home, slot)) ? 1 : 0;
    }
  }
  return live * 5 > all * 4;
}

}  // namespace doppel
