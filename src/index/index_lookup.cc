// Looking documents up: all band tables for many queries at once, so that the memory has always something to
// do.

#include <algorithm>
#include <bit>

#include "index/compare.h"
#include "index/fetch.h"
#include "index/index_impl.h"

namespace doppel {
namespace {

constexpr size_t kBlock = 16;  // queries that are probed before the rows they hit are compared
constexpr size_t kAhead = 3;   // queries between asking for a bucket's line and reading it

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

struct Index::Impl::Lookup {
  const Impl& impl;
  const RowStore& rows = impl.rows;
  size_t bands = impl.bands;

  void prefetch(size_t kind, uint64_t h) const { fetch(impl.table(kind, h).place(h).home); }

  // Compares the row with the query's slices. Sets one bit of `matched` for every band where it is listed and
  // all slices are equal; returns the number of equal slices, or -1 if no band matches or the row is not
  // alive.
  int match(const uint8_t* slices, Seq seq, EqualBits equal_bits, uint64_t* bits, uint32_t* matched) const {
    if (!rows.in_window(seq)) return -1;
    const uint8_t* row = rows.at(seq);
    if (!rows.comparable(row)) return -1;
    const int equal = equal_bits(row, slices, impl.options.num_perm, bits);
    const uint32_t* mask = rows.mask(row);
    uint32_t any = 0;
    for (size_t w = 0; w * 32 < bands; ++w) {
      uint32_t found = 0;
      for (uint32_t listed = mask[w]; listed != 0; listed &= listed - 1) {
        const int bit = std::countr_zero(listed);
        const int band = static_cast<int>(w) * 32 + bit;
        if (band >= impl.options.banding.bands) break;
        if (all_ones(bits, band * impl.options.banding.rows, impl.options.banding.rows))
          found |= uint32_t{1} << bit;
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
    const SlotTable& t = impl.table(kind, h);
    const SlotTable::Place at = t.place(h);
    if (SlotTable::maybe_home(at)) SlotTable::find_home(at, out);
    if (SlotTable::maybe_elsewhere(at)) {
      t.prefetch_elsewhere(at);
      deferred.push_back({&t, at, h, &out});
    }
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
              EqualBits equal_bits, Scratch& s, Found& found) const {
    found.exact.reset();
    found.candidates.clear();
    found.counts.clear();
    for (uint32_t ordinal : digest_hits) {
      const Seq seq = impl.seq_of(ordinal);
      if (!rows.live(seq) || rows.digest(rows.at(seq)) != query.digest) continue;
      if (!found.exact || seq < *found.exact) found.exact = seq;
    }
    if (hits.empty()) return;
    s.counts.assign(bands, 0);
    for (uint32_t ordinal : hits) {
      const Seq seq = impl.seq_of(ordinal);
      const int equal = match(query.slices, seq, equal_bits, s.bits.data(), s.matched.data());
      if (equal < 0) continue;
      for (size_t w = 0; w * 32 < bands; ++w) {
        for (uint32_t m = s.matched[w]; m != 0; m &= m - 1) {
          uint16_t& count = s.counts[w * 32 + static_cast<size_t>(std::countr_zero(m))];
          if (count < 0xffff) ++count;
        }
      }
      if (equal >= impl.options.min_equal) found.candidates.push_back({seq, equal});
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
    if (next != nullptr) prefetch(impl.digests(), spread(next->digest.low));
    if (query != nullptr) probe(impl.digests(), spread(query->digest.low), *digest_hits, s.deferred);
  }

  void lookup(std::span<const Query> queries, std::span<Found> out) const {
    const EqualBits equal_bits = equal_bits_for(simd_level());
    Scratch s;
    s.bits.resize(static_cast<size_t>(impl.options.num_perm) / 64 + 2);
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
};

void Index::Impl::lookup(std::span<const Query> queries, std::span<Found> out) const {
  Lookup{*this}.lookup(queries, out);
}

void Index::Impl::find(size_t kind, uint64_t h, PodVector<uint32_t>& out) const {
  const SlotTable& t = table(kind, h);
  const SlotTable::Place at = t.place(h);
  SlotTable::find_home(at, out);
  if (SlotTable::maybe_elsewhere(at)) t.find_elsewhere(h, at, out);
  PodVector<uint32_t> scratch;
  remove_repeats(out, scratch);
}

int Index::Impl::count_listed(size_t band, uint64_t key, const uint8_t* slices) const {
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

std::vector<Seq> Index::Impl::find_named(size_t kind, uint64_t name) const {
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

}  // namespace doppel
