// Looks documents up in all band tables, for many queries at once, so that memory accesses overlap.

#include <algorithm>
#include <bit>

#include "index/fetch.h"
#include "index/index_impl.h"
#include "index/row_judge.h"

namespace doppel {
namespace {

constexpr size_t kBlock = 64;  // queries whose homes are prefetched together
constexpr size_t kFew = 16;    // queries whose rows are prefetched before they are compared
constexpr size_t kProbesMost =
    2048;  // as long as their lines fit into the cache: fewer queries if there are many bands

// Removes repeated ordinals from the hits of one query. Compares few with each other; uses a small hash table
// for many, so that the cost stays linear when all bands are hot.
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

}  // namespace

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

void CandidateIndex::Impl::lookup(std::span<const Query> queries, std::span<Found> out) const {
  Lookup{*this}.lookup(queries, out);
}

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

}  // namespace doppel
