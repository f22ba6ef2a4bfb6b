// How a table grows and removes expired entries: rounds through its groups.

#include <algorithm>

#include "base/check.h"
#include "index/line_table.h"

namespace doppel {
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
