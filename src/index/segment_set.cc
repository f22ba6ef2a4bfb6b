#include "index/segment_set.h"

#include <algorithm>

#include "base/check.h"
#include "base/status.h"

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

}  // namespace doppel
