#include "index/index.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "index/band_key.h"
#include "index/compare.h"
#include "index/fetch.h"
#include "index/row_store.h"
#include "index/slot_table.h"

namespace doppel {
namespace {

constexpr size_t kBlock = 16;           // queries that are probed before the rows they hit are compared
constexpr size_t kAhead = 3;            // queries between asking for a bucket's line and reading it
constexpr size_t kNoKind = ~size_t{0};  // of a table that is not kept
constexpr size_t kInsertBlock = 256;    // rows that are entered table by table

// Hits of one query: ordinals of rows that may match, repeats removed. Few: compared with each other; many:
// through a small hash table, so that the cost stays linear when all bands are hot.
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
    constexpr uint32_t kNone = ~uint32_t{0};  // no ordinal has more than 28 bits
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

}  // namespace

struct Index::Impl {
  explicit Impl(const IndexOptions& o)
      : options(o),
        rows(o),
        keys(o.banding, o.key),
        bands(static_cast<size_t>(o.banding.bands)),
        shards(static_cast<size_t>(std::max(1, o.shards))),
        source(*this) {
    const size_t kinds = bands + 1 + (o.track_ids ? 1 : 0) + (o.track_payloads ? 1 : 0);
    const size_t count = kinds * shards;
    // A small index touches about two megabytes at most, whatever was hinted.
    const size_t most = kHugePage / sizeof(Bucket) / count;
    const double room = std::clamp(static_cast<double>(o.initial_capacity) / static_cast<double>(8 * shards),
                                   8.0, std::max(8.0, static_cast<double>(most)));
    tables.reserve(count);
    for (size_t t = 0; t < count; ++t) {
      // Tables grow by a fourth at a time: from sizes spread evenly over one such step, at different times.
      const double stagger = std::pow(1.25, static_cast<double>(t) / static_cast<double>(count));
      tables.emplace_back(room * stagger, (uint64_t{1} << kOrdinalBits) / shards);
    }
  }

  size_t shard_of(uint64_t h) const { return (h & 0xffffffff) * shards >> 32; }
  const SlotTable& table(size_t kind, uint64_t h) const { return tables[kind * shards + shard_of(h)]; }
  SlotTable& table(size_t kind, uint64_t h) { return tables[kind * shards + shard_of(h)]; }
  size_t digests() const { return bands; }
  size_t ids() const { return options.track_ids ? bands + 1 : kNoKind; }
  size_t payloads() const {
    return options.track_payloads ? bands + 1 + (options.track_ids ? 1 : 0) : kNoKind;
  }
  // What a stored row is entered by in a table that is not a band's; 0: not at all (but for digests).
  uint64_t name_of(size_t kind, const uint8_t* row) const {
    return kind == digests() ? rows.digest(row).low : kind == ids() ? rows.id_tag(row) : rows.payload(row);
  }
  static uint64_t spread(uint64_t value) { return mix64(value ^ 0x5bd1e9955bd1e995u); }

  // The number that an ordinal stands for; outside the window if it is that of a row long gone.
  Seq seq_of(uint32_t ordinal) const {
    return rows.low() + ((ordinal - static_cast<uint32_t>(rows.low())) & kOrdinalMask);
  }

  void find(size_t kind, uint64_t h, PodVector<uint32_t>& out) const {
    const SlotTable& t = table(kind, h);
    const SlotTable::Place at = t.place(h);
    SlotTable::find_home(at, out);
    if (SlotTable::maybe_elsewhere(at)) t.find_elsewhere(h, at, out);
  }

  void prefetch(size_t kind, uint64_t h) const { fetch(table(kind, h).place(h).home); }

  // Compares the row with the query's slices. Sets one bit of `matched` for every band where it is listed and
  // all slices are equal; returns the number of equal slices, or -1 if no band matches or the row is not
  // alive.
  int match(const uint8_t* slices, Seq seq, EqualBits equal_bits, uint64_t* bits, uint32_t* matched) const {
    if (!rows.in_window(seq)) return -1;
    const uint8_t* row = rows.at(seq);
    if (!rows.comparable(row)) return -1;
    const int equal = equal_bits(row, slices, options.num_perm, bits);
    const uint32_t* mask = rows.mask(row);
    uint32_t any = 0;
    for (size_t w = 0; w * 32 < bands; ++w) {
      uint32_t found = 0;
      for (uint32_t listed = mask[w]; listed != 0; listed &= listed - 1) {
        const int bit = std::countr_zero(listed);
        const int band = static_cast<int>(w) * 32 + bit;
        if (band >= options.banding.bands) break;
        if (all_ones(bits, band * options.banding.rows, options.banding.rows)) found |= uint32_t{1} << bit;
      }
      matched[w] = found;
      any |= found;
    }
    return any != 0 ? equal : -1;
  }

  // Entries that stand away from their home: asked for at once, read when the rest of the block has been
  // probed.
  struct Deferred {
    const SlotTable* table;
    SlotTable::Place at;
    uint64_t h;
    PodVector<uint32_t>* out;
  };
  struct Scratch {
    PodVector<uint32_t> hits[kBlock];  // ordinals of rows that may match
    PodVector<uint32_t> digest_hits[kBlock];
    PodVector<Deferred> deferred;
    PodVector<uint32_t> repeats;
    PodVector<uint64_t> bits;
    PodVector<uint32_t> matched;
    PodVector<uint16_t> counts;
  };

  void probe(size_t kind, uint64_t h, PodVector<uint32_t>& out, PodVector<Deferred>& deferred) const {
    const SlotTable& t = table(kind, h);
    const SlotTable::Place at = t.place(h);
    if (SlotTable::maybe_home(at)) SlotTable::find_home(at, out);
    if (SlotTable::maybe_elsewhere(at)) {
      t.prefetch_elsewhere(at);
      deferred.push_back({&t, at, h, &out});
    }
  }

  void prefetch_row(uint32_t ordinal, bool whole) const {
    const Seq seq = seq_of(ordinal);
    if (!rows.in_window(seq)) return;
    const uint8_t* row = rows.at(seq);
    fetch(row + rows.digest_offset());
    if (!whole) return;
    for (size_t at = 0; at < rows.digest_offset(); at += 64) fetch(row + at);
  }

  void decide(const Query& query, std::span<const uint32_t> hits, std::span<const uint32_t> digest_hits,
              EqualBits equal_bits, Scratch& s, Found& found) const {
    found.exact.reset();
    found.candidates.clear();
    found.counts.clear();
    for (uint32_t ordinal : digest_hits) {
      const Seq seq = seq_of(ordinal);
      if (!rows.live(seq) || rows.digest(rows.at(seq)) != query.digest) continue;
      if (!found.exact || seq < *found.exact) found.exact = seq;
    }
    if (hits.empty()) return;
    s.counts.assign(bands, 0);
    for (uint32_t ordinal : hits) {
      const Seq seq = seq_of(ordinal);
      const int equal = match(query.slices, seq, equal_bits, s.bits.data(), s.matched.data());
      if (equal < 0) continue;
      for (size_t w = 0; w * 32 < bands; ++w) {
        for (uint32_t m = s.matched[w]; m != 0; m &= m - 1) {
          uint16_t& count = s.counts[w * 32 + static_cast<size_t>(std::countr_zero(m))];
          if (count < 0xffff) ++count;
        }
      }
      if (equal >= options.min_equal) found.candidates.push_back({seq, equal});
    }
    for (size_t j = 0; j < bands; ++j) {
      if (s.counts[j] != 0) found.counts.push_back({static_cast<uint16_t>(j), s.counts[j]});
    }
    std::sort(found.candidates.begin(), found.candidates.end(), [](const Candidate& a, const Candidate& b) {
      return a.equal != b.equal ? a.equal > b.equal : a.seq < b.seq;
    });
  }

  // Asks for the lines of one query and probes those of another that were asked for before. In turn, so that
  // the memory has always something to do.
  void step(const Query* next, const Query* query, PodVector<uint32_t>* hits,
            PodVector<uint32_t>* digest_hits, Scratch& s) const {
    const uint64_t* ask = next != nullptr && next->slices != nullptr ? next->band_keys : nullptr;
    const uint64_t* keys_here = query != nullptr && query->slices != nullptr ? query->band_keys : nullptr;
    for (size_t j = 0; j < bands; ++j) {
      if (ask != nullptr) prefetch(j, ask[j]);
      if (keys_here != nullptr) probe(j, keys_here[j], *hits, s.deferred);
    }
    if (next != nullptr) prefetch(digests(), spread(next->digest.low));
    if (query != nullptr) probe(digests(), spread(query->digest.low), *digest_hits, s.deferred);
  }

  void lookup(std::span<const Query> queries, std::span<Found> out) const {
    const EqualBits equal_bits = equal_bits_for(simd_level());
    Scratch s;
    s.bits.resize(static_cast<size_t>(options.num_perm) / 64 + 2);
    s.matched.resize(bands / 32 + 1);
    const size_t n = queries.size();
    for (size_t i = 0; i < std::min(kAhead, n); ++i) step(&queries[i], nullptr, nullptr, nullptr, s);
    for (size_t base = 0; base < n; base += kBlock) {
      const size_t count = std::min(kBlock, n - base);
      s.deferred.clear();
      for (size_t i = 0; i < count; ++i) {
        const Query* next = base + i + kAhead < n ? &queries[base + i + kAhead] : nullptr;
        s.hits[i].clear();
        s.digest_hits[i].clear();
        step(next, &queries[base + i], &s.hits[i], &s.digest_hits[i], s);
      }
      for (const Deferred& d : s.deferred) d.table->find_elsewhere(d.h, d.at, *d.out);
      for (size_t i = 0; i < count; ++i) {
        if (s.hits[i].size() > 1) remove_repeats(s.hits[i], s.repeats);
        for (uint32_t ordinal : s.hits[i]) prefetch_row(ordinal, true);
        for (uint32_t ordinal : s.digest_hits[i]) prefetch_row(ordinal, false);
      }
      for (size_t i = 0; i < count; ++i) {
        decide(queries[base + i], s.hits[i], s.digest_hits[i], equal_bits, s, out[base + i]);
      }
    }
  }

  int count_listed(size_t band, uint64_t key, const uint8_t* slices) const {
    PodVector<uint32_t> hits;
    PodVector<uint32_t> repeats;
    find(band, key, hits);
    remove_repeats(hits, repeats);
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

  // Live rows that are entered under this name, ascending.
  std::vector<Seq> find_named(size_t kind, uint64_t name) const {
    std::vector<Seq> found;
    if (kind == kNoKind || name == 0) return found;
    PodVector<uint32_t> hits;
    PodVector<uint32_t> repeats;
    find(kind, spread(name), hits);
    remove_repeats(hits, repeats);
    for (uint32_t ordinal : hits) {
      const Seq seq = seq_of(ordinal);
      if (rows.live(seq) && name_of(kind, rows.at(seq)) == name) found.push_back(seq);
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  // One document's entry in one table.
  struct Entering {
    SlotTable* table;
    SlotTable::Place at;  // before anything of the block was entered: a hint
    uint64_t h;
    size_t document;
  };
  struct Entries {
    std::array<Entering, kInsertBlock> entries;
    size_t count = 0;
  };

  void gather(size_t kind, std::span<const Row> block, const uint64_t* band_keys, Entries& out) {
    out.count = 0;
    if (kind * shards >= tables.size()) return;
    for (size_t i = 0; i < block.size(); ++i) {
      const Row& row = block[i];
      uint64_t h = 0;
      if (kind < bands) {
        if (row.slices == nullptr || (row.mask[kind / 32] >> (kind % 32) & 1) == 0) continue;
        h = band_keys[i * bands + kind];
      } else {
        const uint64_t named = kind == digests() ? row.digest.low : kind == ids() ? row.id_tag : row.payload;
        if (kind != digests() && named == 0) continue;
        h = spread(named);
      }
      SlotTable& t = table(kind, h);
      out.entries[out.count++] = {&t, t.place(h), h, i};
    }
  }

  // Where homes are full, asks for the lines that the entries go on to, in steps; fewer are left at each.
  static void ask_for_room(const Entries& entering) {
    std::array<uint8_t, kInsertBlock> left;
    static_assert(kInsertBlock <= 256);
    for (size_t i = 0; i < entering.count; ++i) left[i] = static_cast<uint8_t>(i);
    size_t count = entering.count;
    for (uint32_t step = 0; step < SlotTable::kRoomSteps; ++step) {
      size_t full = 0;
      for (size_t i = 0; i < count; ++i) {
        const Entering& e = entering.entries[left[i]];
        left[full] = left[i];
        full += e.table->full(e.at, step) ? 1 : 0;
      }
      count = full;
      for (size_t i = 0; i < count; ++i) {
        const Entering& e = entering.entries[left[i]];
        e.table->prefetch_room(e.at, step);
      }
    }
  }

  // Rows first, then table by table; while one is filled, the homes in the next are asked for (a lookup of
  // the same batch has usually brought the lines, but not kept their translations).
  void insert_block(std::span<const Row> block, const uint64_t* band_keys) {
    const Seq first = rows.next();
    if (first + block.size() - rows.low() > kOrdinalMask) {
      std::fputs("doppel: more than 2^28 representatives between the lowest live one and the next\n", stderr);
      std::abort();
    }
    for (const Row& row : block) rows.append(row);
    Insertion insertion;
    insertion.source = &source;
    insertion.expired = expired;
    insertion.window = {static_cast<uint32_t>(rows.low()) & kOrdinalMask,
                        static_cast<uint32_t>(rows.next() - rows.low())};
    std::array<uint32_t, kInsertBlock> moved{};
    Entries both[2];
    gather(0, block, band_keys, both[0]);
    for (size_t i = 0; i < both[0].count; ++i) fetch(both[0].entries[i].at.home);
    for (size_t kind = 0; kind * shards < tables.size(); ++kind) {
      const Entries& now = both[kind % 2];
      Entries& next = both[(kind + 1) % 2];
      gather(kind + 1, block, band_keys, next);
      ask_for_room(now);
      insertion.kind = static_cast<int>(kind);
      for (size_t i = 0; i < std::max(now.count, next.count); ++i) {
        if (i < next.count) fetch(next.entries[i].at.home);
        if (i >= now.count) continue;
        const Entering& e = now.entries[i];
        insertion.moved = moved[e.document];
        e.table->insert(e.h, static_cast<uint32_t>(first + e.document) & kOrdinalMask, insertion);
        moved[e.document] = insertion.moved;
      }
    }
    moved_max = std::max<uint64_t>(
        moved_max, *std::max_element(moved.begin(), moved.begin() + static_cast<ptrdiff_t>(block.size())));
  }

  void insert(std::span<const Row> batch, const uint64_t* band_keys) {
    for (size_t at = 0; at < batch.size(); at += kInsertBlock)
      insert_block(batch.subspan(at, std::min(kInsertBlock, batch.size() - at)), band_keys + at * bands);
  }

  // Tables [first, last) of kinds, for all rows that live. Row by row in blocks: a block's slices stay close
  // while one table after the other takes its keys from them.
  void build_kinds(size_t first, size_t last) {
    for (size_t t = first * shards; t < last * shards; ++t) tables[t].take_memory();
    Insertion insertion;
    insertion.source = &source;
    insertion.window = {static_cast<uint32_t>(rows.low()) & kOrdinalMask,
                        static_cast<uint32_t>(rows.next() - rows.low())};
    Entries both[2];
    for (Seq block = rows.low(); block < rows.next(); block += kInsertBlock) {
      const Seq end = std::min(rows.next(), block + kInsertBlock);
      gather_stored(first, block, end, both[first % 2]);
      for (size_t i = 0; i < both[first % 2].count; ++i) fetch(both[first % 2].entries[i].at.home);
      for (size_t kind = first; kind < last; ++kind) {
        const Entries& now = both[kind % 2];
        Entries& next = both[(kind + 1) % 2];
        next.count = 0;
        if (kind + 1 < last) gather_stored(kind + 1, block, end, next);
        ask_for_room(now);
        insertion.kind = static_cast<int>(kind);
        for (size_t i = 0; i < std::max(now.count, next.count); ++i) {
          if (i < next.count) fetch(next.entries[i].at.home);
          if (i >= now.count) continue;
          insertion.moved = 0;
          const Entering& e = now.entries[i];
          e.table->insert(e.h, static_cast<uint32_t>(block + e.document) & kOrdinalMask, insertion);
        }
      }
    }
  }

  // The same as gather(), of rows that are in the store.
  void gather_stored(size_t kind, Seq from, Seq to, Entries& out) {
    out.count = 0;
    for (Seq seq = from; seq < to; ++seq) {
      const uint8_t* row = rows.at(seq);
      const uint32_t flags = *rows.flags(row);
      if ((flags & RowStore::kRemoved) != 0) continue;
      uint64_t h = 0;
      if (kind < bands) {
        if ((flags & RowStore::kSliced) == 0 || (rows.mask(row)[kind / 32] >> (kind % 32) & 1) == 0) continue;
        h = keys.key(static_cast<int>(kind), row);
      } else {
        const uint64_t named = name_of(kind, row);
        if (kind != digests() && named == 0) continue;
        h = spread(named);
      }
      SlotTable& t = table(kind, h);
      out.entries[out.count++] = {&t, t.place(h), h, static_cast<size_t>(seq - from)};
    }
  }

  void build_tables(int parts, const Run& run) {
    const uint64_t live = rows.next() - rows.low() - rows.removed();
    const size_t count = tables.size();
    const size_t kinds = count / shards;
    if (live == 0) return;
    // Between growing and growing again, each table at another point.
    const double full = static_cast<double>(live) / static_cast<double>(shards) / kSlots / 0.9;
    for (size_t t = 0; t < count; ++t) {
      const double stagger = std::pow(1.25, static_cast<double>(t + 1) / static_cast<double>(count + 1));
      tables[t] = SlotTable(std::max(8.0, full) * stagger, (uint64_t{1} << kOrdinalBits) / shards);
    }
    expired = false;
    const auto n = static_cast<size_t>(std::max(1, parts));
    run(static_cast<int>(n), [&](int part) {
      const auto p = static_cast<size_t>(part);
      build_kinds(p * kinds / n, (p + 1) * kinds / n);
    });
  }

  // What tables ask about their entries.
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

  IndexOptions options;
  RowStore rows;
  BandKeys keys;
  size_t bands;
  size_t shards;
  std::vector<SlotTable> tables;  // [kind * shards + shard]; kinds: the bands, digests, ids
  Source source;
  bool expired = false;  // expire_below() was called: tables may hold entries below the window
  uint64_t moved_max = 0;
};

BytesEach bytes_each(const IndexOptions& options) {
  // A table: ten entries in 64 bytes, filled to 91 % at most, grown by a fourth. Between growing and growing
  // again the average table takes this much for an entry.
  constexpr double kTableBytes = 64.0 / 10 / 0.91 * (0.25 / 0.22314355131);
  return {
      .row = static_cast<double>(RowStore(options).stride()),
      .tables = (options.banding.bands + 1 + (options.track_ids ? 1 : 0) + (options.track_payloads ? 1 : 0)) *
                kTableBytes};
}

Index::Index(const IndexOptions& options) : impl_(std::make_unique<Impl>(options)) {}
Index::~Index() = default;

const IndexOptions& Index::options() const { return impl_->options; }

void Index::band_keys(const uint8_t* slices, uint64_t* out) const {
  for (int j = 0; j < impl_->options.banding.bands; ++j) out[j] = impl_->keys.key(j, slices);
}

void Index::lookup(std::span<const Query> queries, std::span<Found> out) const {
  impl_->lookup(queries, out);
}

int Index::count_listed(int band, uint64_t band_key, const uint8_t* slices) const {
  return impl_->count_listed(static_cast<size_t>(band), band_key, slices);
}

void Index::insert(std::span<const Row> rows, const uint64_t* band_keys) { impl_->insert(rows, band_keys); }

Seq Index::next_seq() const { return impl_->rows.next(); }
Seq Index::lowest_live() const { return impl_->rows.low(); }
bool Index::live(Seq seq) const { return impl_->rows.live(seq); }
Row Index::row(Seq seq) const { return impl_->rows.row(seq); }
bool Index::remove(Seq seq) { return impl_->rows.remove(seq); }
void Index::expire_below(Seq seq) {
  impl_->rows.expire_below(seq);
  impl_->expired = true;
}
void Index::start_at(Seq seq) { impl_->rows.start_at(seq); }
void Index::restore(const Row& row, bool removed) {
  const Seq seq = impl_->rows.append(row);
  if (removed) impl_->rows.remove(seq);
}
void Index::build_tables(int parts, const Run& run) { impl_->build_tables(parts, run); }

std::vector<Seq> Index::find_id(uint64_t id_tag) const { return impl_->find_named(impl_->ids(), id_tag); }
std::vector<Seq> Index::find_payload(uint32_t payload) const {
  return impl_->find_named(impl_->payloads(), payload);
}

IndexStats Index::stats() const {
  IndexStats stats;
  const RowStore& rows = impl_->rows;
  stats.rows = rows.next() - rows.low();
  stats.live = stats.rows - rows.removed();
  stats.row_bytes = rows.bytes();
  stats.moved_entries_max = impl_->moved_max;
  stats.shards.resize(impl_->shards);
  for (size_t t = 0; t < impl_->tables.size(); ++t) {
    const SlotTable& table = impl_->tables[t];
    IndexStats::Shard& shard = stats.shards[t % impl_->shards];
    shard.entries += table.entries();
    shard.bytes += table.bytes();
    shard.spilled += table.side_entries();
    shard.inserts += table.inserts();
    shard.load +=
        table.load() * static_cast<double>(impl_->shards) / static_cast<double>(impl_->tables.size());
    stats.table_bytes += table.bytes();
  }
  return stats;
}

}  // namespace doppel
