// Finds the originals in segments that list prints. An entry has all bits of its print, so no row is read.

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "index/segment_reads.h"
#include "index/segment_set.h"

namespace doppel {

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
