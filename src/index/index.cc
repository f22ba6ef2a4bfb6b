#include "index/index.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "base/check.h"
#include "base/memory_limit.h"
#include "base/simd.h"
#include "index/banding.h"
#include "index/compare.h"
#include "index/line_table.h"
#include "index/print_table.h"
#include "index/row_store.h"

namespace doppel {
namespace {

// Queries whose homes are prefetched together, and their lines at most, which must fit into the cache.
constexpr size_t kBlock = 64, kProbesMost = 2048;
constexpr size_t kFew = 16;          // queries whose rows are prefetched before they are compared
constexpr size_t kInsertBlock = 64;  // rows that are entered together, table by table

}  // namespace

// The rows, and for each kind of key a table from its hash to ordinals of rows. The kinds are the bands, then
// digests, ids and payloads if they are tracked.
struct CandidateIndex::Impl {
  static constexpr size_t kNoKind = ~size_t{0};  // of a table that does not exist

  explicit Impl(const CandidateIndexOptions& o);

  LineTable::Options table_options(size_t number, size_t count, uint64_t entries) const;
  size_t digests() const { return bands; }
  size_t ids() const { return options.track_ids ? bands + 1 : kNoKind; }
  size_t payloads() const {
    return options.track_payloads ? bands + 1 + (options.track_ids ? 1 : 0) : kNoKind;
  }
  // The value by which a table other than a band's lists a stored row; 0 means not listed (except in the
  // table of digests).
  uint64_t name_of(size_t kind, const uint8_t* row) const {
    return kind == digests() ? rows.digest(row).low : kind == ids() ? rows.id_tag(row) : rows.payload(row);
  }
  static uint64_t spread(uint64_t value) { return mix64(value ^ 0x5bd1e9955bd1e995u); }

  // The number of an ordinal. It is outside the window if the row is gone.
  Seq seq_of(uint32_t ordinal) const {
    return rows.low() + ((ordinal - static_cast<uint32_t>(rows.low())) & kOrdinalMask);
  }

  int count_listed(size_t band, uint64_t key, const uint8_t* slices) const;
  // The live rows listed under this name, ascending.
  std::vector<Seq> find_named(size_t kind, uint64_t name) const;
  // The ordinals that may be listed under this hash, each once.
  void find(size_t kind, uint64_t h, PodVector<uint32_t>& out) const;

  void insert(std::span<const Row> batch, const uint64_t* band_keys, int parts, const Run& run);
  void insert_prints(std::span<const Row> batch);
  void build_tables(int parts, const Run& run);
  OrdinalWindow window() const {
    return {static_cast<uint32_t>(rows.low()) & kOrdinalMask,
            static_cast<uint32_t>(rows.next() - rows.low())};
  }

  // Answers what tables ask about their entries.
  struct Source final : EntrySource {
    explicit Source(const Impl& i) : impl(i) {}
    uint64_t hash_of(int kind, uint32_t ordinal) const override {
      const uint8_t* row = impl.rows.at(impl.seq_of(ordinal));
      if (static_cast<size_t>(kind) < impl.bands) return impl.keys.key(kind, row);
      return spread(impl.name_of(static_cast<size_t>(kind), row));
    }
    void prefetch(int kind, uint32_t ordinal) const override {
      const Seq seq = impl.seq_of(ordinal);
      if (!impl.rows.in_window(seq)) return;
      const bool band = static_cast<size_t>(kind) < impl.bands;
      fetch(impl.rows.at(seq) +
            (band ? static_cast<size_t>(kind * impl.options.banding.rows) : impl.rows.digest_offset()));
    }
    bool alive(uint32_t ordinal) const override { return impl.rows.live(impl.seq_of(ordinal)); }
    const Impl& impl;
  };

  CandidateIndexOptions options;
  uint64_t entries_max;  // of one table: determines the address space that it reserves
  RowStore rows;
  BandKeys keys;
  size_t bands;
  std::vector<LineTable> tables;       // indexed by kind
  std::unique_ptr<PrintTable> prints;  // with track_prints
  Source source;
  bool expired = false;  // expire_below() was called: tables may contain entries below the window
  uint64_t moved_max = 0;

  struct Lookup;
  struct Entering;
};

// Looks documents up in all band tables, for many queries at once, so that memory accesses overlap.
struct CandidateIndex::Impl::Lookup {
  const Impl& impl;
  const RowStore& rows = impl.rows;
  size_t bands = impl.bands;

  struct Aside {
    const LineTable* table;
    uint64_t h;
    bool band;
  };
  struct Scratch {
    PodVector<uint32_t> hits[kBlock];  // ordinals of rows that may match, without those in side sets
    PodVector<uint32_t> digest_hits[kBlock];
    PodVector<uint32_t> all_hits[kFew];
    PodVector<uint32_t> sliced;          // queries that have slices
    PodVector<uint64_t> h;               // their hashes, band by band; then all digests
    PodVector<LineTable::Place> places;  // of the same hashes
    PodVector<uint32_t> promising;       // indices of places that may hold a match
    PodVector<Aside> aside[kBlock];      // side sets that are still to be searched
    PodVector<uint32_t> repeats;
  };

  // Looks the block up in one table after the other: prefetches all homes, checks them without data-dependent
  // branches, and continues only with those that may hold a match.
  void probe(std::span<const Query> block, Scratch& s) const {
    const LineKernels& kernels = line_kernels_for(simd_level());
    s.sliced.clear();
    for (size_t i = 0; i < block.size(); ++i) {
      if (block[i].slices != nullptr) s.sliced.push_back(static_cast<uint32_t>(i));
    }
    const size_t n = s.sliced.size();
    const size_t all = bands * n + block.size();
    s.h.resize(all);
    s.places.resize(all);
    s.promising.resize(all + 1);
    for (size_t band = 0; band < bands; ++band) {
      for (size_t i = 0; i < n; ++i) s.h[band * n + i] = block[s.sliced[i]].band_keys[band];
      find_places(kernels, band, band * n, n, s);
    }
    for (size_t i = 0; i < block.size(); ++i) s.h[bands * n + i] = spread(block[i].digest.low);
    find_places(kernels, impl.digests(), bands * n, block.size(), s);

    const size_t promising = kernels.promising(s.places.data(), all, s.promising.data());
    for (const uint32_t p : std::span(s.promising.data(), promising)) {
      if (LineTable::maybe_elsewhere(s.places[p])) fetch(overflow_of(s.places[p].home));
    }
    for (const size_t p : std::span(s.promising.data(), promising)) {
      const LineTable::Place& at = s.places[p];
      const size_t kind = n == 0 ? bands : std::min(p / n, bands);
      const bool band = kind < bands;
      const size_t query = band ? s.sliced[p - kind * n] : p - bands * n;
      PodVector<uint32_t>& out = band ? s.hits[query] : s.digest_hits[query];
      LineTable::find_home(at, out);
      if (!LineTable::maybe_elsewhere(at)) continue;
      LineTable::find_overflow(at, out);
      if (!LineTable::maybe_aside(at)) continue;
      const LineTable& table = impl.tables[kind];
      table.prefetch_run(s.h[p]);
      s.aside[query].push_back({&table, s.h[p], band});
    }
    for (size_t i = 0; i < block.size(); ++i) {
      for (const Aside& a : s.aside[i]) a.table->prefetch_aside(a.h);
    }
  }

  // Finds the homes of the hashes [first, first + n), which all belong to one kind, and prefetches them.
  void find_places(const LineKernels& kernels, size_t kind, size_t first, size_t n, Scratch& s) const {
    impl.tables[kind].places(kernels, s.h.data() + first, n, s.places.data() + first);
    for (size_t i = first; i < first + n; ++i) fetch(s.places[i].home);
  }

  void prefetch_row(uint32_t ordinal, bool whole) const {
    const Seq seq = impl.seq_of(ordinal);
    if (!rows.in_window(seq)) return;
    const uint8_t* row = rows.at(seq);
    fetch(row + rows.digest_offset());
    if (!whole) return;
    for (size_t at = 0; at < rows.digest_offset(); at += 64) fetch(row + at);
  }

  void decide(const Query& query, std::span<const uint32_t> hits, std::span<const uint32_t> digest_hits,
              RowJudge& judge, Found& found) const {
    judge.begin(found);
    for (uint32_t ordinal : digest_hits) {
      const Seq seq = impl.seq_of(ordinal);
      if (!rows.live(seq) || rows.digest(rows.at(seq)) != query.digest) continue;
      if (!found.exact || seq < *found.exact) found.exact = seq;
    }
    if (hits.empty()) return;
    for (uint32_t ordinal : hits) {
      const Seq seq = impl.seq_of(ordinal);
      if (!rows.in_window(seq)) continue;
      const int equal = judge.match(query.slices, rows.at(seq));
      if (equal >= 0) judge.add(seq, equal, found);
    }
    judge.end(found);
  }

  void lookup(std::span<const Query> queries, std::span<Found> out) const {
    RowJudge judge(impl.options, rows);
    Scratch s;
    const size_t most = std::clamp<size_t>(kProbesMost / (bands + 1), 8, kBlock);
    for (size_t base = 0; base < queries.size(); base += most) {
      const size_t count = std::min(most, queries.size() - base);
      for (size_t i = 0; i < count; ++i) {
        s.hits[i].clear();
        s.digest_hits[i].clear();
        s.aside[i].clear();
      }
      probe(queries.subspan(base, count), s);
      // If keys are hot, the hits of a few queries fill the cache.
      for (size_t first = 0; first < count; first += kFew) {
        const size_t last = std::min(first + kFew, count);
        for (size_t i = first; i < last; ++i) {
          PodVector<uint32_t>& hits = s.all_hits[i - first];
          hits.assign(s.hits[i].begin(), s.hits[i].end());
          for (const Aside& a : s.aside[i]) a.table->find_aside(a.h, a.band ? hits : s.digest_hits[i]);
          if (hits.size() > 1) remove_repeats(hits, s.repeats);
          for (uint32_t ordinal : hits) prefetch_row(ordinal, true);
          for (uint32_t ordinal : s.digest_hits[i]) prefetch_row(ordinal, false);
        }
        for (size_t i = first; i < last; ++i)
          decide(queries[base + i], s.all_hits[i - first], s.digest_hits[i], judge, out[base + i]);
      }
    }
  }
};

void CandidateIndex::Impl::find(size_t kind, uint64_t h, PodVector<uint32_t>& out) const {
  const LineTable& t = tables[kind];
  const LineTable::Place at = t.place(h);
  t.find(h, at, out);
  PodVector<uint32_t> scratch;
  remove_repeats(out, scratch);
}

int CandidateIndex::Impl::count_listed(size_t band, uint64_t key, const uint8_t* slices) const {
  PodVector<uint32_t> hits;
  find(band, key, hits);
  const auto first = band * static_cast<size_t>(options.banding.rows);
  int count = 0;
  for (uint32_t ordinal : hits) {
    const Seq seq = seq_of(ordinal);
    if (!rows.in_window(seq)) continue;
    const uint8_t* row = rows.at(seq);
    if (!rows.comparable(row) || (rows.mask(row)[band / 32] >> (band % 32) & 1) == 0) continue;
    count += std::equal(slices + first, slices + first + options.banding.rows, row + first) ? 1 : 0;
  }
  return count;
}

std::vector<Seq> CandidateIndex::Impl::find_named(size_t kind, uint64_t name) const {
  std::vector<Seq> found;
  if (kind == kNoKind || name == 0) return found;
  PodVector<uint32_t> hits;
  find(kind, spread(name), hits);
  for (uint32_t ordinal : hits) {
    const Seq seq = seq_of(ordinal);
    if (rows.live(seq) && name_of(kind, rows.at(seq)) == name) found.push_back(seq);
  }
  std::sort(found.begin(), found.end());
  return found;
}

// Inserts documents, table by table for a block of rows, so that cache lines arrive before they are written.
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

CandidateIndex::Impl::Impl(const CandidateIndexOptions& o)
    : options(o),
      entries_max(rows_with_room(o) + 1),
      rows(o),
      keys(o.banding, o.key),
      bands(static_cast<size_t>(o.banding.bands)),
      source(*this) {
  DOPPEL_CHECK(o.num_perm >= 1 && o.banding.bands >= 1 && o.banding.rows >= 1 &&
                   o.banding.bands <= o.num_perm / o.banding.rows,
               "the rows of all bands are slots of the sketch", o.num_perm, o.banding.bands, o.banding.rows);
  const size_t count = tables_of(o);
  // A small index touches at most about two megabytes, whatever the hint says.
  const auto most = static_cast<uint64_t>(kHugePage / LineTable::bytes_each()) / count;
  tables.reserve(count);
  for (size_t t = 0; t < count; ++t)
    tables.emplace_back(table_options(t, count, std::min(o.initial_capacity, most)));
  if (o.track_prints) prints = std::make_unique<PrintTable>(&options.fresh);
}

LineTable::Options CandidateIndex::Impl::table_options(size_t number, size_t count, uint64_t entries) const {
  return {.entries = entries,
          .phase = static_cast<double>(number) / static_cast<double>(count),
          .entries_max = entries_max};
}

CandidateIndex::CandidateIndex(const CandidateIndexOptions& options)
    : impl_(std::make_unique<Impl>(options)) {}
CandidateIndex::~CandidateIndex() = default;

const CandidateIndexOptions& CandidateIndex::options() const { return impl_->options; }

void CandidateIndex::band_keys(const uint8_t* slices, uint64_t* out) const {
  for (int j = 0; j < impl_->options.banding.bands; ++j) out[j] = impl_->keys.key(j, slices);
}

void CandidateIndex::lookup(std::span<const Query> queries, std::span<Found> out) const {
  DOPPEL_CHECK(out.size() >= queries.size(), "a lookup has room for each answer", queries.size(), out.size());
  Impl::Lookup{*impl_}.lookup(queries, out);
}

int CandidateIndex::count_listed(int band, uint64_t band_key, const uint8_t* slices) const {
  DOPPEL_CHECK(band >= 0 && band < impl_->options.banding.bands,
               "a band that is asked for is one of the index's", band, impl_->options.banding.bands);
  return impl_->count_listed(static_cast<size_t>(band), band_key, slices);
}

void CandidateIndex::insert(std::span<const Row> rows, const uint64_t* band_keys, int parts, const Run& run) {
  impl_->insert(rows, band_keys, parts, run);
}

Seq CandidateIndex::next_seq() const { return impl_->rows.next(); }
Seq CandidateIndex::lowest_live() const { return impl_->rows.low(); }
bool CandidateIndex::live(Seq seq) const { return impl_->rows.live(seq); }
Row CandidateIndex::row(Seq seq) const { return impl_->rows.row(seq); }
bool CandidateIndex::remove(Seq seq) {
  if (!impl_->rows.remove(seq)) return false;
  if (impl_->prints) impl_->prints->remove(seq);
  return true;
}
void CandidateIndex::revive(Seq seq) {
  impl_->rows.revive(seq);
  if (impl_->prints) impl_->prints->revive(seq);
}
void CandidateIndex::expire_below(Seq seq) {
  const Seq before = impl_->rows.low();
  impl_->rows.expire_below(seq);
  if (impl_->prints) impl_->prints->expire_below(seq);
  DOPPEL_CHECK(impl_->rows.low() >= before && impl_->rows.low() <= impl_->rows.next(),
               "the lowest live number never goes back and is at most the next number", before,
               impl_->rows.low(), impl_->rows.next(), seq);
  impl_->expired = true;
}
void CandidateIndex::start_at(Seq seq) {
  impl_->rows.start_at(seq);
  if (impl_->prints) impl_->prints->start_at(seq);
}
void CandidateIndex::restore(const Row& row, bool removed) {
  const Seq seq = impl_->rows.append(row);
  if (impl_->prints) impl_->prints->insert(removed ? std::span<const uint64_t>() : row.prints);
  if (removed) remove(seq);
}
void CandidateIndex::build_tables(int parts, const Run& run) { impl_->build_tables(parts, run); }

std::vector<Seq> CandidateIndex::find_id(uint64_t id_tag) const {
  return impl_->find_named(impl_->ids(), id_tag);
}
std::vector<Seq> CandidateIndex::find_payload(uint32_t payload) const {
  return impl_->find_named(impl_->payloads(), payload);
}

const PrintTable& CandidateIndex::prints() const {
  DOPPEL_CHECK(impl_->prints != nullptr, "an index that is asked for prints keeps them");
  return *impl_->prints;
}

IndexStats CandidateIndex::stats() const {
  IndexStats stats;
  const RowStore& rows = impl_->rows;
  stats.rows = rows.next() - rows.low();
  stats.live = stats.rows - rows.removed();
  stats.row_bytes = rows.bytes();
  stats.moved_entries_max = impl_->moved_max;
  for (const LineTable& table : impl_->tables) {
    stats.entries += table.entries();
    stats.spilled += table.side_entries();
    stats.inserts += table.inserts();
    stats.load += table.load() / static_cast<double>(impl_->tables.size());
    stats.table_bytes += table.bytes();
  }
  if (impl_->prints) {
    stats.print_bytes = impl_->prints->bytes();
    stats.table_bytes += stats.print_bytes;
    stats.prints = impl_->prints->entries();
  }
  return stats;
}

}  // namespace doppel
