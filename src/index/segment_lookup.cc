// Looks documents up in all segments; segment_set.h describes the two rounds.

#include <algorithm>

#include "base/status.h"
#include "index/row_judge.h"
#include "index/segment_reads.h"
#include "index/segment_set.h"

namespace doppel {
namespace {

constexpr size_t kBlock = 64;     // queries whose keys are kept in the cache
constexpr size_t kQueries = 512;  // whose hits are kept at once

}  // namespace

struct SegmentLookup {
  // A key of a query that a segment's filter has.
  struct Hit {
    uint64_t key;
    uint32_t query;
    uint16_t segment;
    uint16_t kind;
    bool done;  // read, or needs no reading
  };
  // The hits of one query in one segment, and the rows that they led to.
  struct Group {
    uint32_t begin, end;  // hits
    PodVector<uint32_t> ordinals;
    size_t rows_from = 0;             // of `ordinals`: first one that was not read yet
    std::vector<uint32_t> explained;  // bands whose hits a row explains
    PodVector<uint8_t> rows;          // of `ordinals`, one after the other
  };
  const SegmentSet& set;
  std::span<const Query> queries;
  std::span<Found> out;
  SegmentCounters& counters;
  KnownBodies* bodies;

  std::vector<Hit> hits{};
  std::vector<Group> groups{};
  std::vector<PageWant> wants{};     // `who`: a hit, or a group; then `part` is the index of an ordinal
  std::vector<uint32_t> group_of{};  // by hit
  RowJudge judge{set.options_, set.layout_};

  absl::Status run() {
    find_hits();
    counters.filter_hits += hits.size();
    make_groups();
    for (uint32_t g = 0; g < groups.size(); ++g) choose_first(groups[g]);
    RETURN_IF_ERROR(read_round());
    for (Group& group : groups) choose_rest(group);
    RETURN_IF_ERROR(read_round());
    decide();
    return absl::OkStatus();
  }

  // All filters, segment by segment for a block of queries.
  void find_hits() {
    const FilterProbe kernel = filter_probe_for(simd_level());
    std::vector<Hit> asked;  // of a block
    std::vector<uint64_t> coefficients;
    std::vector<uint64_t> keys;
    std::vector<uint32_t> found;
    for (size_t base = 0; base < queries.size(); base += kBlock) {
      asked.clear();
      for (size_t q = base; q < std::min(queries.size(), base + kBlock); ++q) ask(q, asked);
      coefficients.resize(asked.size());
      keys.resize(asked.size());
      for (size_t i = 0; i < asked.size(); ++i) {
        keys[i] = asked[i].key;
        coefficients[i] = filter_coefficients(asked[i].key, false);
      }
      found.resize(asked.size());
      for (size_t s = 0; s < set.parts_.size(); ++s) {
        const Segment& segment = *set.parts_[s].segment;
        const size_t n =
            segment.keys().probe(kernel, keys.data(), coefficients.data(), asked.size(), found.data());
        for (size_t x = 0; x < n; ++x) {
          hits.push_back(asked[found[x]]);
          hits.back().segment = static_cast<uint16_t>(s);
        }
      }
    }
    std::sort(hits.begin(), hits.end(), [](const Hit& a, const Hit& b) {
      return a.query != b.query       ? a.query < b.query
             : a.segment != b.segment ? a.segment < b.segment
                                      : a.kind < b.kind;
    });
  }

  // The keys of a query.
  void ask(size_t q, std::vector<Hit>& asked) const {
    const Query& query = queries[q];
    const auto add = [&](size_t kind, uint64_t value) {
      asked.push_back(
          {segment_key(kind, value), static_cast<uint32_t>(q), 0, static_cast<uint16_t>(kind), false});
    };
    for (size_t band = 0; query.slices != nullptr && band < set.kinds_.bands; ++band)
      add(band, query.band_keys[band]);
    add(set.kinds_.digest(), query.digest.low);
  }

  void make_groups() {
    group_of.resize(hits.size());
    for (uint32_t h = 0; h < hits.size(); ++h) {
      if (h == 0 || hits[h].query != hits[h - 1].query || hits[h].segment != hits[h - 1].segment) {
        groups.push_back({.begin = h, .end = h, .ordinals = {}, .explained = {}, .rows = {}});
        groups.back().explained.resize(set.kinds_.bands / 32 + 1);
      }
      ++groups.back().end;
      group_of[h] = static_cast<uint32_t>(groups.size() - 1);
    }
  }

  const Segment& segment_of(const Hit& hit) const { return *set.parts_[hit.segment].segment; }

  void want(uint32_t h) {
    Hit& hit = hits[h];
    hit.done = true;
    const Segment& segment = segment_of(hit);
    const PageRange range = segment.keys().pages_of(hit.key);
    for (uint64_t p = range.first; p <= range.last; ++p)
      wants.push_back({&segment, segment.keys().part().page_at(p), h, 0, p});
  }

  // The digest, which the group's last hit may be: an equal text explains all bands. Otherwise a band whose
  // key probably has one row only.
  void choose_first(const Group& group) {
    uint32_t best = group.end - 1;
    if (hits[best].kind != set.kinds_.digest()) {
      best = group.begin;
      for (uint32_t h = group.begin; h < group.end; ++h) {
        if (segment_of(hits[h]).keys().may_repeat(hits[h].key)) continue;
        best = h;
        break;
      }
    }
    want(best);
  }

  void choose_rest(const Group& group) {
    for (uint32_t h = group.begin; h < group.end; ++h) {
      const Hit& hit = hits[h];
      if (hit.done) continue;
      const bool explained = (group.explained[hit.kind / 32] >> (hit.kind % 32) & 1) != 0;
      if (!explained || segment_of(hit).keys().may_repeat(hit.key)) want(h);
    }
  }

  absl::Status read_round() {
    RETURN_IF_ERROR(
        read_wanted(set.reader_, wants, counters.key_pages, [&](const PageWant& want, const uint8_t* bytes) {
          Group& group = groups[group_of[want.who]];
          want.segment->keys().find(bytes, hits[want.who].key, group.ordinals);
        }));
    for (uint32_t g = 0; g < groups.size(); ++g) want_rows(g);
    RETURN_IF_ERROR(
        read_wanted(set.reader_, wants, counters.row_pages, [&](const PageWant& want, const uint8_t* bytes) {
          Group& group = groups[want.who];
          want.segment->copy_row(bytes, want.page, group.ordinals[want.part],
                                 &group.rows[want.part * set.layout_.stride()]);
        }));
    for (Group& group : groups) explain(group);
    return absl::OkStatus();
  }

  // Wants the rows of ordinals that are new and not dead. Rows that are dead explain hits, too, but are not
  // worth a read.
  void want_rows(uint32_t g) {
    Group& group = groups[g];
    PodVector<uint32_t>& all = group.ordinals;
    if (all.size() == group.rows_from) return;
    const Hit& hit = hits[group.begin];
    const Segment& segment = segment_of(hit);
    const auto fresh = all.begin() + static_cast<ptrdiff_t>(group.rows_from);
    std::sort(fresh, all.end());
    auto kept = fresh;
    for (auto it = fresh; it != all.end(); ++it) {
      if (it != fresh && *it == *(it - 1)) continue;
      if (std::find(all.begin(), fresh, *it) != fresh || !set.live(segment.first() + *it)) continue;
      *kept++ = *it;
    }
    all.erase(kept, all.end());
    group.rows.resize(all.size() * set.layout_.stride());
    for (size_t x = group.rows_from; x < all.size(); ++x) {
      const PageRange pages = segment.row_pages_of(all[x]);
      for (uint64_t page = pages.first; page <= pages.last; ++page)
        wants.push_back({&segment, segment.header().row_page_at(page), g, static_cast<uint32_t>(x), page});
    }
  }

  void explain(Group& group) {
    const size_t stride = set.layout_.stride();
    const Query& query = queries[hits[group.begin].query];
    for (; group.rows_from < group.ordinals.size(); ++group.rows_from) {
      if (query.slices == nullptr) continue;
      if (judge.match(query.slices, &group.rows[group.rows_from * stride]) < 0) continue;
      for (size_t w = 0; w * 32 < set.kinds_.bands; ++w) group.explained[w] |= judge.matched()[w];
    }
  }

  void decide() {
    for (size_t q = 0, g = 0; q < queries.size(); ++q) {
      Found& found = out[q];
      judge.begin(found);
      for (; g < groups.size() && hits[groups[g].begin].query == q; ++g) {
        const Group& group = groups[g];
        const Segment& segment = segment_of(hits[group.begin]);
        for (size_t x = 0; x < group.ordinals.size(); ++x)
          add(queries[q], segment.first() + group.ordinals[x], &group.rows[x * set.layout_.stride()], found);
      }
      judge.end(found);
    }
  }

  void add(const Query& query, Seq seq, const uint8_t* row, Found& found) {
    const size_t before = found.candidates.size();
    const bool exact = set.layout_.digest(row) == query.digest && (!found.exact || seq < *found.exact);
    if (exact) found.exact = seq;
    if (query.slices != nullptr) {
      const int equal = judge.match(query.slices, row);
      if (equal >= 0) judge.add(seq, equal, found);
    }
    if (bodies != nullptr && (exact || found.candidates.size() > before))
      bodies->insert_or_assign(seq, set.layout_.read(row).body);
  }
};

absl::Status SegmentSet::lookup(std::span<const Query> queries, std::span<Found> out,
                                SegmentCounters& counters, KnownBodies* bodies) const {
  const SegmentCounters before = counters;
  for (size_t at = 0; at < queries.size(); at += kQueries) {
    const size_t n = std::min(kQueries, queries.size() - at);
    RETURN_IF_ERROR(SegmentLookup({.set = *this,
                                   .queries = queries.subspan(at, n),
                                   .out = out.subspan(at, n),
                                   .counters = counters,
                                   .bodies = bodies})
                        .run());
  }
  key_pages_.fetch_add(counters.key_pages - before.key_pages, std::memory_order_relaxed);
  row_pages_.fetch_add(counters.row_pages - before.row_pages, std::memory_order_relaxed);
  return absl::OkStatus();
}

}  // namespace doppel
