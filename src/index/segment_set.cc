#include "index/segment_set.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/status.h"
#include "index/compare.h"
#include "index/segment.h"

namespace doppel {

SegmentSet::SegmentSet(const CandidateIndexOptions& options, const PageReader& reader)
    : options_(options), layout_(options), kinds_(options), reader_(reader) {}
SegmentSet::~SegmentSet() = default;

uint64_t SegmentSet::memory_bytes() const {
  uint64_t bytes = 0;
  for (const Part& part : parts_) bytes += part.segment->memory_bytes() + 8 * part.removed.size();
  return bytes;
}

SegmentStats SegmentSet::stats() const {
  return {.segments = parts_.size(),
          .live = parts_.empty() ? 0 : live(),
          .memory_bytes = memory_bytes(),
          .key_pages = key_pages_.load(std::memory_order_relaxed),
          .row_pages = row_pages_.load(std::memory_order_relaxed)};
}

void SegmentSet::add(std::shared_ptr<const Segment> segment) {
  DOPPEL_CHECK(segment->first() == next_, "a segment continues the numbers of those before", segment->first(),
               next_);
  next_ = segment->end();
  parts_.push_back({.segment = std::move(segment), .removed = {}});
}

void SegmentSet::replace(size_t first, size_t count, std::shared_ptr<const Segment> merged) {
  DOPPEL_CHECK(count > 0 && first + count <= parts_.size() &&
                   parts_[first].segment->first() == merged->first() &&
                   parts_[first + count - 1].segment->end() == merged->end(),
               "a merged segment has the numbers of those that it replaces", first, count, merged->first(),
               merged->end());
  Part part{.segment = std::move(merged), .removed = {}};
  for (size_t p = first; p < first + count; ++p) {
    const Part& old = parts_[p];
    if (old.removed.empty()) continue;
    part.removed.resize((part.segment->header().rows + 63) / 64);
    for (Seq seq = old.segment->first(); seq < old.segment->end(); ++seq) {
      const uint64_t at = seq - part.segment->first();
      if (removed(old, seq)) part.removed[at / 64] |= uint64_t{1} << (at % 64);
    }
  }
  parts_.erase(parts_.begin() + static_cast<ptrdiff_t>(first),
               parts_.begin() + static_cast<ptrdiff_t>(first + count));
  parts_.insert(parts_.begin() + static_cast<ptrdiff_t>(first), std::move(part));
}

SegmentSet::Part* SegmentSet::part_of(Seq seq) {
  const auto part = std::partition_point(parts_.begin(), parts_.end(),
                                         [&](const Part& p) { return p.segment->end() <= seq; });
  return part == parts_.end() || part->segment->first() > seq ? nullptr : &*part;
}

bool SegmentSet::removed(const Part& part, Seq seq) {
  const uint64_t at = seq - part.segment->first();
  return !part.removed.empty() && (part.removed[at / 64] >> (at % 64) & 1) != 0;
}

bool SegmentSet::live(Seq seq) const {
  if (seq < low_ || seq >= next_) return false;
  const Part* part = part_of(seq);
  return part != nullptr && !removed(*part, seq);
}

bool SegmentSet::remove(Seq seq) {
  if (!live(seq)) return false;
  Part& part = *part_of(seq);
  if (part.removed.empty()) part.removed.resize((part.segment->header().rows + 63) / 64);
  const uint64_t at = seq - part.segment->first();
  part.removed[at / 64] |= uint64_t{1} << (at % 64);
  ++removed_;
  return true;
}

void SegmentSet::revive(Seq seq) {
  Part& part = *part_of(seq);
  const uint64_t at = seq - part.segment->first();
  part.removed[at / 64] &= ~(uint64_t{1} << (at % 64));
  --removed_;
}

void SegmentSet::expire_below(Seq seq) {
  const Seq low = std::max(low_, std::min(seq, next_));
  for (Seq dead = low_; removed_ != 0 && dead < low; ++dead) removed_ -= live(dead) ? 0 : 1;
  low_ = low;
  const auto kept = std::find_if(parts_.begin(), parts_.end(),
                                 [&](const Part& part) { return part.segment->end() > low_; });
  parts_.erase(parts_.begin(), kept);
}

void SegmentSet::start_at(Seq seq) {
  DOPPEL_CHECK(parts_.empty(), "numbering begins elsewhere only while there are no segments", seq, next_);
  low_ = next_ = seq;
  removed_ = 0;
}

absl::Status SegmentSet::read_row(const Segment& segment, uint64_t ordinal, uint8_t* out) const {
  alignas(kSegmentPage) uint8_t bytes[kSegmentPage];
  const PageRange pages = segment.row_pages_of(ordinal);
  for (uint64_t page = pages.first; page <= pages.last; ++page) {
    row_pages_.fetch_add(1, std::memory_order_relaxed);
    RETURN_IF_ERROR(segment.read_page(segment.header().row_page_at(page), bytes));
    segment.copy_row(bytes, page, ordinal, out);
  }
  return absl::OkStatus();
}

template <typename Use>
absl::Status SegmentSet::each_with(size_t kind, uint64_t value, const Use& use) const {
  const uint64_t key = segment_key(kind, value);
  alignas(kSegmentPage) uint8_t page[kSegmentPage];
  PodVector<uint8_t> row(layout_.stride());
  PodVector<uint32_t> ordinals;
  for (const Part& part : parts_) {
    const Segment& segment = *part.segment;
    const SegmentKeys& keys = segment.keys();
    if (!keys.may_have(key)) continue;
    ordinals.clear();
    const PageRange range = keys.pages_of(key);
    for (uint64_t p = range.first; p <= range.last; ++p) {
      key_pages_.fetch_add(1, std::memory_order_relaxed);
      RETURN_IF_ERROR(segment.read_page(keys.part().page_at(p), page));
      keys.find(page, key, ordinals);
    }
    for (const uint32_t ordinal : ordinals) {
      const Seq seq = segment.first() + ordinal;
      if (!live(seq)) continue;
      RETURN_IF_ERROR(read_row(segment, ordinal, row.data()));
      use(seq, row.data());
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Seq>> SegmentSet::find_id(uint64_t id_tag) const {
  std::vector<Seq> found;
  if (!options_.track_ids || id_tag == 0) return found;
  RETURN_IF_ERROR(each_with(kinds_.id(), id_tag, [&](Seq seq, const uint8_t* row) {
    if (layout_.id_tag(row) == id_tag) found.push_back(seq);
  }));
  return found;
}

absl::StatusOr<std::vector<Seq>> SegmentSet::find_payload(uint32_t payload) const {
  std::vector<Seq> found;
  if (!options_.track_payloads || payload == 0) return found;
  RETURN_IF_ERROR(each_with(kinds_.payload(), payload, [&](Seq seq, const uint8_t* row) {
    if (layout_.payload(row) == payload) found.push_back(seq);
  }));
  return found;
}

absl::StatusOr<int> SegmentSet::count_listed(int band, uint64_t band_key, const uint8_t* slices) const {
  const auto j = static_cast<size_t>(band);
  const auto first = j * static_cast<size_t>(options_.banding.rows);
  int count = 0;
  RETURN_IF_ERROR(each_with(j, band_key, [&](Seq, const uint8_t* row) {
    if (!layout_.comparable(row) || (layout_.mask(row)[j / 32] >> (j % 32) & 1) == 0) return;
    count += std::equal(slices + first, slices + first + options_.banding.rows, row + first) ? 1 : 0;
  }));
  return count;
}

absl::StatusOr<Row> SegmentSet::row(Seq seq, std::string& bytes) const {
  const Part* part = part_of(seq);
  DOPPEL_CHECK(part != nullptr, "a row that is asked for is in a segment", seq, low_, next_);
  bytes.resize(layout_.stride());
  auto* row = reinterpret_cast<uint8_t*>(bytes.data());
  RETURN_IF_ERROR(read_row(*part->segment, seq - part->segment->first(), row));
  return layout_.read(row);
}

// Looks documents up in all segments; segment_set.h describes the two rounds.

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
    for (auto ordinal = fresh; ordinal != all.end(); ++ordinal) {
      if (ordinal != fresh && *ordinal == *(ordinal - 1)) continue;
      if (std::find(all.begin(), fresh, *ordinal) != fresh || !set.live(segment.first() + *ordinal)) continue;
      *kept++ = *ordinal;
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

// Finds the originals in segments that list prints. An entry has all bits of its print, so no row is read.
uint32_t SegmentSet::prints_of(Seq seq) const {
  if (!live(seq)) return 0;
  const Segment& segment = *part_of(seq)->segment;
  return segment.prints_of(seq - segment.first());
}

absl::Status SegmentSet::find_prints(std::span<const uint64_t> prints, uint32_t most, uint32_t count_most,
                                     PrintsFound& out) const {
  out.listings.clear();
  out.numbers.clear();
  const FilterProbe kernel = filter_probe_for(simd_level());
  std::vector<uint64_t> keys(prints.size());
  std::vector<uint64_t> coefficients(prints.size());
  std::vector<uint32_t> hits(prints.size());
  std::vector<PageWant> wants;
  for (size_t i = 0; i < prints.size(); ++i) {
    keys[i] = kPrintKeys.filter_key(prints[i]);
    coefficients[i] = filter_coefficients(keys[i], false);
  }
  for (const Part& part : parts_) {
    const SegmentKeys& listed = part.segment->prints();
    const size_t n = listed.probe(kernel, keys.data(), coefficients.data(), keys.size(), hits.data());
    for (size_t hit = 0; hit < n; ++hit) {
      const PageRange pages = listed.pages_of(prints[hits[hit]]);
      for (uint64_t page = pages.first; page <= pages.last; ++page)
        wants.push_back({part.segment.get(), listed.part().page_at(page), hits[hit], 0, page});
    }
  }
  std::vector<std::pair<uint32_t, Seq>> listings;
  PodVector<uint32_t> ordinals;
  uint64_t pages = 0;
  const absl::Status read =
      read_wanted(reader_, wants, pages, [&](const PageWant& want, const uint8_t* bytes) {
        ordinals.clear();
        want.segment->prints().find(bytes, prints[want.who], ordinals);
        for (const uint32_t ordinal : ordinals) {
          const Seq seq = want.segment->first() + ordinal;
          if (live(seq)) listings.emplace_back(want.who, seq);
        }
      });
  key_pages_.fetch_add(pages, std::memory_order_relaxed);
  RETURN_IF_ERROR(read);
  std::sort(listings.begin(), listings.end());
  for (size_t at = 0; at < listings.size();) {
    const uint32_t asked = listings[at].first;
    size_t end = at;
    while (end < listings.size() && listings[end].first == asked) ++end;
    PrintListing listing{.asked = asked,
                         .count = static_cast<uint32_t>(std::min<size_t>(end - at, count_most)),
                         .begin = static_cast<uint32_t>(out.numbers.size())};
    for (; at < end; ++at)
      if (listing.count <= most) out.numbers.push_back(listings[at].second);
    listing.end = static_cast<uint32_t>(out.numbers.size());
    out.listings.push_back(listing);
  }
  return absl::OkStatus();
}

}  // namespace doppel
