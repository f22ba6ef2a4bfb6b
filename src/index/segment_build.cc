#include "index/segment_build.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "base/check.h"
#include "base/status.h"
#include "index/segment_writer.h"

namespace doppel {
namespace {

constexpr int kOrdinalBitsHere = 24;

// Sorts by the highest bits into buckets, which are then small enough for the cache.
void sort_uniform(PodVector<uint64_t>& values) {
  constexpr int kBits = 12;
  constexpr int kShift = 64 - kBits;
  if (values.size() < size_t{1} << 16) {
    std::sort(values.begin(), values.end());
    return;
  }
  std::vector<size_t> ends((size_t{1} << kBits) + 1);
  for (const uint64_t value : values) ++ends[(value >> kShift) + 1];
  for (size_t b = 1; b < ends.size(); ++b) ends[b] += ends[b - 1];
  PodVector<uint64_t> sorted(values.size());
  std::vector<size_t> at(ends.begin(), ends.end() - 1);
  for (const uint64_t value : values) sorted[at[value >> kShift]++] = value;
  for (size_t b = 0; b + 1 < ends.size(); ++b)
    std::sort(sorted.begin() + static_cast<ptrdiff_t>(ends[b]),
              sorted.begin() + static_cast<ptrdiff_t>(ends[b + 1]));
  values.swap(sorted);
}

// The pages of a part of a file, read ahead by some.
class PageStream {
 public:
  PageStream(const Segment& segment, uint64_t at, uint64_t pages)
      : segment_(segment), at_(at), end_(at + pages * kSegmentPage), bytes_(kAhead * kSegmentPage) {}

  // nullptr at the end.
  absl::StatusOr<const uint8_t*> next() {
    if (next_ == have_) {
      if (at_ == end_) return nullptr;
      have_ = std::min<uint64_t>(kAhead, (end_ - at_) / kSegmentPage);
      RETURN_IF_ERROR(segment_.source().read_at(at_, bytes_.data(), have_ * kSegmentPage));
      at_ += have_ * kSegmentPage;
      next_ = 0;
    }
    const uint8_t* page = &bytes_[next_ * kSegmentPage];
    RETURN_IF_ERROR(check_segment_page(segment_.source(), at_ - (have_ - next_) * kSegmentPage, page));
    ++next_;
    return page;
  }

 private:
  static constexpr uint64_t kAhead = 256;
  const Segment& segment_;
  uint64_t at_, end_;
  PodVector<uint8_t> bytes_;
  uint64_t next_ = 0, have_ = 0;
};

// The entries of a segment in order.
struct EntryStream {
  explicit EntryStream(const Segment& s)
      : segment(s), pages(s, s.header().key_page_at(0), s.header().key_pages) {}

  absl::Status advance() {
    if (page == nullptr || ++at == KeyPage::count(page)) {
      at = 0;
      ASSIGN_OR_RETURN(page, pages.next());
      if (page == nullptr) {
        key = kEnd;
        return absl::OkStatus();
      }
    }
    const int bits = segment.header().ordinal_bits();
    const uint64_t entry = KeyPage::entry(page, at);
    key = KeyPage::first_key(page) + (entry >> bits);
    ordinal = static_cast<uint32_t>(entry & ((uint64_t{1} << bits) - 1));
    return absl::OkStatus();
  }

  static constexpr uint64_t kEnd = ~uint64_t{0};
  const Segment& segment;
  PageStream pages;
  const uint8_t* page = nullptr;
  uint32_t at = 0;
  uint64_t key = 0;
  uint32_t ordinal = 0;
};

absl::Status merge_rows(std::span<const Segment* const> parts, SegmentWriter& out) {
  for (const Segment* part : parts) {
    PageStream pages(*part, part->header().row_page_at(0), part->header().row_pages());
    const uint8_t* page = nullptr;
    for (uint64_t ordinal = 0; ordinal < part->header().rows; ++ordinal) {
      if (ordinal % RowPage::rows(part->header().stride) == 0) {
        ASSIGN_OR_RETURN(page, pages.next());
      }
      RETURN_IF_ERROR(out.add_row(part->row_in(page, ordinal)));
    }
  }
  return absl::OkStatus();
}

absl::Status merge_entries(std::span<const Segment* const> parts, SegmentWriter& out) {
  std::vector<std::unique_ptr<EntryStream>> streams;
  for (const Segment* part : parts) {
    streams.push_back(std::make_unique<EntryStream>(*part));
    RETURN_IF_ERROR(streams.back()->advance());
  }
  const Seq first = parts.front()->first();
  while (true) {
    // Of equal keys the earliest part comes first, so ordinals ascend.
    EntryStream* least = streams.front().get();
    for (const auto& stream : streams)
      if (stream->key < least->key) least = stream.get();
    if (least->key == EntryStream::kEnd) return absl::OkStatus();
    const Seq seq = least->segment.first() + least->ordinal;
    RETURN_IF_ERROR(out.add_entry(least->key, static_cast<uint32_t>(seq - first)));
    RETURN_IF_ERROR(least->advance());
  }
}

}  // namespace

SegmentBytesEach segment_bytes_each(const CandidateIndexOptions& options) {
  const auto keys = static_cast<double>(SegmentKinds(options).most());
  const auto page = static_cast<double>(kSegmentPage);
  const auto rows = static_cast<double>(RowPage::rows(RowLayout(options).stride()));
  const double directory = 4 * keys / KeyPage::kEntries;
  const double memory = keys * FilterShape::kSlotsForAKey * kFilterColumns / 8 + directory;
  return {.memory = memory, .disk = memory + page / rows + keys * page / KeyPage::kEntries};
}

SegmentBuilder::SegmentBuilder(const CandidateIndexOptions& options, Seq first)
    : options_(options), layout_(options), kinds_(options), first_(first) {}

void SegmentBuilder::enter(size_t kind, uint64_t value) {
  entries_.push_back(segment_key(kind, value) << kOrdinalBitsHere | rows_);
}

void SegmentBuilder::add(const Row& row, const uint64_t* band_keys) {
  static_assert(kRowsMost == uint64_t{1} << kOrdinalBitsHere);
  DOPPEL_CHECK(rows_ < kRowsMost, "a new segment has fewer rows than ordinals of 24 bits", first_, rows_);
  const size_t at = bytes_.size();
  bytes_.resize(at + layout_.stride());
  std::fill_n(&bytes_[at], layout_.stride(), uint8_t{0});
  layout_.write(row, &bytes_[at]);
  for (size_t band = 0; row.slices != nullptr && band < kinds_.bands; ++band)
    if ((row.mask[band / 32] >> (band % 32) & 1) != 0) enter(band, band_keys[band]);
  enter(kinds_.digest(), row.digest.low);
  if (kinds_.ids && row.id_tag != 0) enter(kinds_.id(), row.id_tag);
  if (kinds_.payloads && row.payload != 0) enter(kinds_.payload(), row.payload);
  ++rows_;
}

absl::Status SegmentBuilder::write(uint32_t columns, SegmentSink& sink) {
  sort_uniform(entries_);
  SegmentWriter out(options_, first_, rows_, entries_.size(), columns, sink);
  for (uint64_t r = 0; r < rows_; ++r) RETURN_IF_ERROR(out.add_row(&bytes_[r * layout_.stride()]));
  for (const uint64_t entry : entries_) {
    RETURN_IF_ERROR(out.add_entry(entry >> kOrdinalBitsHere,
                                  static_cast<uint32_t>(entry & ((uint64_t{1} << kOrdinalBitsHere) - 1))));
  }
  return out.finish();
}

absl::Status merge_segments(const CandidateIndexOptions& options, std::span<const Segment* const> parts,
                            uint32_t columns, SegmentSink& sink) {
  uint64_t rows = 0;
  uint64_t entries = 0;
  for (const Segment* part : parts) {
    DOPPEL_CHECK(part->first() == parts.front()->first() + rows, "merged segments continue each other",
                 part->first(), parts.front()->first(), rows);
    rows += part->header().rows;
    entries += part->header().entries;
  }
  SegmentWriter out(options, parts.front()->first(), rows, entries, columns, sink);
  RETURN_IF_ERROR(merge_rows(parts, out));
  RETURN_IF_ERROR(merge_entries(parts, out));
  return out.finish();
}

}  // namespace doppel
