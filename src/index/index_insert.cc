// Inserts documents, table by table for a block of rows, so that cache lines arrive before they are written.

#include <algorithm>
#include <array>
#include <numeric>

#include "base/check.h"
#include "index/fetch.h"
#include "index/index_impl.h"

namespace doppel {
namespace {

constexpr size_t kInsertBlock = 64;  // rows that are entered together, table by table

}  // namespace

struct CandidateIndex::Impl::Entering {
  explicit Entering(Impl& index) : impl(index) {}

  Impl& impl;
  RowStore& rows = impl.rows;
  size_t bands = impl.bands;

  // The entries of a block for the tables of one kind.
  struct Entries {
    std::array<uint64_t, kInsertBlock> h;
    std::array<uint32_t, kInsertBlock> ordinals;
    std::array<LineTable::Place, kInsertBlock> places;
    size_t count = 0;
    void add(uint64_t hash, Seq seq) {
      h[count] = hash;
      ordinals[count++] = static_cast<uint32_t>(seq) & kOrdinalMask;
    }
  };
  struct Late {
    LineTable* table;
    LineTable::Place at;
    uint64_t h;
    uint32_t ordinal;
  };
  struct Payment {
    LineTable* table;
    uint32_t inserts;
    int kind;
  };

  const LineKernels& kernels = line_kernels_for(simd_level());
  Entries both[2];         // for the current and the next kind
  PodVector<Late> late;    // for all kinds: entries that did not fit into their home
  PodVector<Late> aside;   // of these, entries that did not fit into the overflow line
  PodVector<Payment> due;  // for all kinds
  Insertion insertion;

  void gather(size_t kind, std::span<const Row> block, Seq first, const uint64_t* band_keys, Entries& out) {
    for (size_t i = 0; i < block.size(); ++i) {
      const Row& row = block[i];
      if (kind < bands) {
        if (row.slices == nullptr || (row.mask[kind / 32] >> (kind % 32) & 1) == 0) continue;
        out.add(band_keys[i * bands + kind], first + i);
      } else {
        const uint64_t named = kind == impl.digests() ? row.digest.low
                               : kind == impl.ids()   ? row.id_tag
                                                      : row.payload;
        if (kind == impl.digests() || named != 0) out.add(spread(named), first + i);
      }
    }
  }

  // Like gather(), for stored rows.
  void gather_stored(size_t kind, Seq from, Seq to, Entries& out) {
    for (Seq seq = from; seq < to; ++seq) {
      const uint8_t* row = rows.at(seq);
      const uint32_t flags = *rows.flags(row);
      if ((flags & RowStore::kRemoved) != 0) continue;
      if (kind < bands) {
        if ((flags & RowStore::kSliced) == 0 || (rows.mask(row)[kind / 32] >> (kind % 32) & 1) == 0) continue;
        out.add(impl.keys.key(static_cast<int>(kind), row), seq);
      } else {
        const uint64_t named = impl.name_of(kind, row);
        if (kind == impl.digests() || named != 0) out.add(spread(named), seq);
      }
    }
  }

  void find_places(size_t kind, Entries& entries) {
    impl.tables[kind].places(kernels, entries.h.data(), entries.count, entries.places.data());
    for (size_t i = 0; i < entries.count; ++i) fetch(entries.places[i].home);
  }

  // Enters a block of rows into the tables of kinds [first, last). While it fills one table, it prefetches
  // the homes in the next (a lookup of the same batch usually brought the lines, but not their address
  // translations). Entries whose home is full wait until all homes are written; then their overflow lines and
  // runs are prefetched for all kinds together. Tables grow last, when all entries are placed.
  template <typename Gather>
  void enter(size_t first, size_t last, const Gather& gather) {
    const auto ask = [&](size_t kind) {
      Entries& entries = both[kind % 2];
      entries.count = 0;
      if (kind >= last) return;
      gather(kind, entries);
      find_places(kind, entries);
    };
    late.clear();
    due.clear();
    ask(first);
    for (size_t kind = first; kind < last; ++kind) {
      ask(kind + 1);
      const Entries& now = both[kind % 2];
      std::array<uint32_t, kInsertBlock + 1> full;
      const size_t fulls = kernels.put_homes(now.places.data(), now.ordinals.data(), now.count, full.data());
      for (size_t x = 0; x < fulls; ++x) {
        const size_t i = full[x];
        fetch(overflow_of(now.places[i].home));
        late.push_back({&impl.tables[kind], now.places[i], now.h[i], now.ordinals[i]});
      }
      due.push_back({&impl.tables[kind], static_cast<uint32_t>(now.count), static_cast<int>(kind)});
    }
    enter_late();
    for (const Payment& payment : due) {
      insertion.kind = payment.kind;
      payment.table->pay(payment.inserts, insertion);
    }
  }

  void enter_late() {
    aside.clear();
    for (const Late& e : late) {
      if (LineTable::put_overflow(e.at, e.ordinal)) continue;
      e.table->prefetch_run(e.h);
      aside.push_back(e);
    }
    for (const Late& e : aside) e.table->prefetch_aside(e.h);
    for (const Late& e : aside) e.table->put_aside(e.h, e.at, e.ordinal, insertion);
  }

  // Enters stored rows from `first` on into the tables of kinds [from, to). Returns the maximum of entries
  // that one of these inserts moved.
  uint64_t enter_rows(size_t from, size_t to, std::span<const Row> batch, Seq first,
                      const uint64_t* band_keys) {
    const size_t kinds = impl.tables.size();
    uint64_t most = 0;
    for (size_t at = 0; at < batch.size(); at += kInsertBlock) {
      const std::span<const Row> block = batch.subspan(at, std::min(kInsertBlock, batch.size() - at));
      const auto documents = static_cast<uint32_t>(block.size());
      insertion = {.source = &impl.source,
                   .window = impl.window(),
                   .expired = impl.expired,
                   .moved_max = static_cast<uint32_t>(kMovesMax * documents * (to - from) / kinds),
                   .fresh = &impl.options.fresh};
      enter(from, to,
            [&](size_t kind, Entries& out) { gather(kind, block, first + at, band_keys + at * bands, out); });
      most = std::max<uint64_t>(most, (insertion.moved + documents - 1) / documents);
    }
    return most;
  }

  // Builds the tables of kinds [first, last) for all live rows. Goes through the rows in blocks, so that a
  // block's slices stay in the cache while each table takes its keys from them.
  void build_kinds(size_t first, size_t last) {
    for (size_t t = first; t < last; ++t) impl.tables[t].take_memory();
    for (Seq block = rows.low(); block < rows.next(); block += kInsertBlock) {
      const Seq end = std::min(rows.next(), block + kInsertBlock);
      insertion = {
          .source = &impl.source, .window = impl.window(), .moved_max = kMovesMax * uint32_t{kInsertBlock}};
      enter(first, last, [&](size_t kind, Entries& out) { gather_stored(kind, block, end, out); });
    }
  }
};

// Prefetches the lines of a row while earlier rows are inserted, in two steps.
void CandidateIndex::Impl::insert_prints(std::span<const Row> batch) {
  constexpr size_t kAhead = 8, kRunAhead = 4;
  for (size_t r = 0; r < batch.size() + kAhead; ++r) {
    if (r < batch.size())
      for (const uint64_t print : batch[r].prints) prints->prefetch_place(print);
    if (r >= kRunAhead && r - kRunAhead < batch.size())
      for (const uint64_t print : batch[r - kRunAhead].prints) prints->prefetch_run(print);
    if (r >= kAhead) prints->insert(batch[r - kAhead].prints);
  }
}

void CandidateIndex::Impl::insert(std::span<const Row> batch, const uint64_t* band_keys, int parts,
                                  const Run& run) {
  const Seq first = rows.next();
  static_assert(kIndexRowsMax == kOrdinalMask);
  DOPPEL_CHECK(first + batch.size() - rows.low() <= kIndexRowsMax, "as many rows live as there are ordinals",
               rows.low(), first, batch.size());
  for (const Row& row : batch) rows.append(row);
  const size_t kinds = tables.size();
  const size_t n = run ? std::clamp<size_t>(static_cast<size_t>(parts), 1, kinds) : 1;
  std::vector<uint64_t> moved(n);
  const auto part = [&](int p) {
    const auto at = static_cast<size_t>(p);
    if (at == n) {
      insert_prints(batch);
      return;
    }
    moved[at] = Entering(*this).enter_rows(at * kinds / n, (at + 1) * kinds / n, batch, first, band_keys);
  };
  const size_t all = n + (prints ? 1 : 0);
  if (run && all > 1) {
    run(static_cast<int>(all), part);
  } else {
    for (size_t p = 0; p < all; ++p) part(static_cast<int>(p));
  }
  const uint64_t most = std::accumulate(moved.begin(), moved.end(), uint64_t{0});
  DOPPEL_CHECK(most <= kMovesMax + n, "an insert moves a bounded number of entries", most, first);
  moved_max = std::max(moved_max, most);
}

void CandidateIndex::Impl::build_tables(int parts, const Run& run) {
  const uint64_t live = rows.next() - rows.low() - rows.removed();
  const size_t kinds = tables.size();
  DOPPEL_CHECK(rows.next() - rows.low() <= kIndexRowsMax, "as many rows live as there are ordinals",
               rows.low(), rows.next());
  if (live == 0) return;
  for (size_t t = 0; t < kinds; ++t) tables[t] = LineTable(table_options(t, kinds, live + 1));
  expired = false;
  const auto n = static_cast<size_t>(std::max(1, parts));
  run(static_cast<int>(n), [&](int part) {
    const auto p = static_cast<size_t>(part);
    Entering(*this).build_kinds(p * kinds / n, (p + 1) * kinds / n);
  });
  const uint64_t entered = tables[digests()].entries();
  DOPPEL_CHECK(entered == live, "every row that lives has one entry in the tables of digests", entered, live,
               rows.low(), rows.next());
}

}  // namespace doppel
