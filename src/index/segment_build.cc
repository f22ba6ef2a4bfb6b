#include "index/segment_build.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "base/check.h"
#include "base/status.h"
#include "index/segment_writer.h"

namespace doppel {
namespace {

// In a builder, an entry and its ordinal are one number.
constexpr int kKeyOrdinalBits = 64 - kSegmentKeyBits;
constexpr int kPrintOrdinalBits = 64 - kPrintBits;

uint32_t ordinal_in(uint64_t entry, int bits) {
  return static_cast<uint32_t>(entry & ((uint64_t{1} << bits) - 1));
}

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

// The entries of a part of a segment in order.
struct EntryStream {
  EntryStream(const Segment& s, const SegmentKeys& of)
      : segment(s), part(of), pages(s, of.part().page_at(0), of.part().pages) {}

  absl::Status advance() {
    if (page == nullptr || ++at == KeyPage::count(page)) {
      at = 0;
      ASSIGN_OR_RETURN(page, pages.next());
      if (page == nullptr) {
        key = kEnd;
        return absl::OkStatus();
      }
    }
    const uint64_t entry = KeyPage::entry(part.shape(), page, at);
    key = KeyPage::first_key(page) + (entry >> part.ordinal_bits());
    ordinal = ordinal_in(entry, part.ordinal_bits());
    return absl::OkStatus();
  }

  static constexpr uint64_t kEnd = ~uint64_t{0};
  const Segment& segment;
  const SegmentKeys& part;
  PageStream pages;
  const uint8_t* page = nullptr;
  uint32_t at = 0;
  uint64_t key = 0;
  uint32_t ordinal = 0;
};

absl::Status merge_rows(std::span<const Segment* const> parts, SegmentWriter& out) {
  for (const Segment* part : parts) {
    PageStream pages(*part, part->header().row_page_at(0), part->header().row_pages());
    PodVector<uint8_t> row(part->header().stride);
    const uint8_t* bytes = nullptr;
    uint64_t next = 0;  // page
    for (uint64_t ordinal = 0; ordinal < part->header().rows; ++ordinal) {
      const PageRange range = part->row_pages_of(ordinal);
      for (uint64_t page = range.first; page <= range.last; ++page) {
        for (; next <= page; ++next) {
          ASSIGN_OR_RETURN(bytes, pages.next());
        }
        part->copy_row(bytes, page, ordinal, row.data());
      }
      RETURN_IF_ERROR(out.add_row(row.data(), part->header().with_prints ? part->prints_of(ordinal) : 0));
    }
  }
  return absl::OkStatus();
}

// Calls add(key, number) for all entries of these streams in order. The segments continue each other.
template <typename Add>
absl::Status merge_entries(std::vector<std::unique_ptr<EntryStream>> streams, const Add& add) {
  for (const auto& stream : streams) RETURN_IF_ERROR(stream->advance());
  while (true) {
    // Of equal keys the earliest part comes first, so ordinals ascend.
    EntryStream* least = streams.front().get();
    for (const auto& stream : streams)
      if (stream->key < least->key) least = stream.get();
    if (least->key == EntryStream::kEnd) return absl::OkStatus();
    RETURN_IF_ERROR(add(least->key, least->segment.first() + least->ordinal));
    RETURN_IF_ERROR(least->advance());
  }
}

}  // namespace

SegmentBytesEach segment_bytes_each(const CandidateIndexOptions& options) {
  const auto keys = static_cast<double>(SegmentKinds(options).most());
  const auto page = static_cast<double>(kSegmentPage);
  const double row = static_cast<double>(RowLayout(options).stride()) * page / RowPage::kBytes;
  SegmentBytesEach out{.memory = 0, .disk = row};
  const auto add = [&](const KeyShape& shape, double entries) {
    const double pages = entries / static_cast<double>(KeyPage::entries(shape));
    const double memory = entries * FilterShape::kSlotsForAKey * kFilterColumns / 8 + 4 * pages;
    out.memory += memory;
    out.disk += memory + pages * page;
  };
  add(kRowKeys, keys);
  if (options.track_prints) {
    add(kPrintKeys, prints_each(options.passage));
    out.memory += 1;  // its count
    out.disk += 1;
  }
  return out;
}

uint64_t SegmentBuilder::rows_most(const CandidateIndexOptions& options) {
  return uint64_t{1} << (options.track_prints ? kPrintOrdinalBits : kKeyOrdinalBits);
}

SegmentBuilder::SegmentBuilder(const CandidateIndexOptions& options, Seq first)
    : options_(options), layout_(options), kinds_(options), first_(first) {}

void SegmentBuilder::enter(size_t kind, uint64_t value) {
  keys_.push_back(segment_key(kind, value) << kKeyOrdinalBits | rows_);
}

void SegmentBuilder::add(const Row& row, const uint64_t* band_keys) {
  DOPPEL_CHECK(rows_ < rows_most(options_), "the ordinals of a new segment are beside its keys", first_,
               rows_);
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

void SegmentBuilder::add_prints(uint64_t ordinal, std::span<const uint64_t> prints) {
  print_counts_.resize(rows_);
  print_counts_[ordinal] = static_cast<uint32_t>(prints.size());
  for (const uint64_t print : prints) prints_.push_back(print << kPrintOrdinalBits | ordinal);
}

absl::Status SegmentBuilder::write(uint32_t columns, SegmentSink& sink) {
  sort_uniform(keys_);
  sort_uniform(prints_);
  const SegmentAmount amount{.rows = rows_, .keys = keys_.size(), .prints = prints_.size()};
  SegmentWriter out(options_, first_, amount, columns, sink);
  print_counts_.resize(rows_);
  for (uint64_t r = 0; r < rows_; ++r)
    RETURN_IF_ERROR(out.add_row(&bytes_[r * layout_.stride()], print_counts_[r]));
  for (const uint64_t entry : keys_)
    RETURN_IF_ERROR(out.add_key(entry >> kKeyOrdinalBits, ordinal_in(entry, kKeyOrdinalBits)));
  for (const uint64_t entry : prints_)
    RETURN_IF_ERROR(out.add_print(entry >> kPrintOrdinalBits, ordinal_in(entry, kPrintOrdinalBits)));
  return out.finish();
}

absl::Status merge_segments(const CandidateIndexOptions& options, std::span<const Segment* const> parts,
                            uint32_t columns, SegmentSink& sink) {
  SegmentAmount amount;
  std::vector<std::unique_ptr<EntryStream>> keys;
  std::vector<std::unique_ptr<EntryStream>> prints;
  const Seq first = parts.front()->first();
  for (const Segment* part : parts) {
    DOPPEL_CHECK(part->first() == first + amount.rows, "merged segments continue each other", part->first(),
                 first, amount.rows);
    amount.rows += part->header().rows;
    amount.keys += part->header().keys.entries;
    amount.prints += part->header().prints.entries;
    keys.push_back(std::make_unique<EntryStream>(*part, part->keys()));
    if (options.track_prints) prints.push_back(std::make_unique<EntryStream>(*part, part->prints()));
  }
  SegmentWriter out(options, first, amount, columns, sink);
  RETURN_IF_ERROR(merge_rows(parts, out));
  RETURN_IF_ERROR(merge_entries(std::move(keys), [&](uint64_t key, Seq seq) {
    return out.add_key(key, static_cast<uint32_t>(seq - first));
  }));
  if (options.track_prints) {
    RETURN_IF_ERROR(merge_entries(std::move(prints), [&](uint64_t print, Seq seq) {
      return out.add_print(print, static_cast<uint32_t>(seq - first));
    }));
  }
  return out.finish();
}

}  // namespace doppel
