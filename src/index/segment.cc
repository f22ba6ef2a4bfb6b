#include "index/segment.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <span>

#include "base/checksums.h"
#include "base/status.h"

namespace doppel {

absl::Status SegmentKeys::load(const SegmentSource& source) {
  const uint64_t bytes = part_.filter.bytes();
  const uint64_t room = bytes + 8 * part_.filter.columns;  // probes read one block more
  filter_ = Pages(room, room, room < kHugePage ? room : 0);
  filter_.require(room);
  RETURN_IF_ERROR(read_checked(source, part_.at, filter_.data(), bytes, part_.filter_crc, "filter"));
  directory_.resize(part_.pages);
  return read_checked(source, part_.directory_at(), reinterpret_cast<uint8_t*>(directory_.data()),
                      4 * directory_.size(), part_.directory_crc, "directory");
}

bool SegmentKeys::has(uint64_t key, bool repeated) const {
  const uint64_t of_filter = shape_.filter_key(key);
  const uint64_t coefficients = filter_coefficients(of_filter, repeated);
  uint32_t hit = 0;
  return probe(filter_probe_scalar, &of_filter, &coefficients, 1, &hit) != 0;
}

PageRange SegmentKeys::pages_of(uint64_t key) const {
  if (directory_.empty()) return {};
  const auto top = static_cast<uint32_t>(key >> (shape_.bits - 32));
  // Keys are uniform, so the place in proportion is close; the range around it doubles until it has the key.
  const uint64_t n = directory_.size();
  const uint64_t guess = std::min(n - 1, (top * n) >> 32);
  uint64_t low = guess;
  uint64_t high = guess;
  for (uint64_t step = 16; low > 0 && directory_[low] >= top; step *= 2) low -= std::min(low, step);
  for (uint64_t step = 16; high < n && directory_[high] <= top; step *= 2) high = std::min(n, high + step);
  const auto* begin = directory_.data();
  // A page whose first key has the same top may begin behind the key, or among entries of it.
  const auto first = static_cast<uint64_t>(std::lower_bound(begin + low, begin + high, top) - begin);
  const auto behind = static_cast<uint64_t>(std::upper_bound(begin + low, begin + high, top) - begin);
  if (behind == 0) return {};
  return {first == 0 ? 0 : first - 1, behind - 1};
}

void SegmentKeys::find(const uint8_t* page, uint64_t key, PodVector<uint32_t>& ordinals) const {
  const uint64_t first = KeyPage::first_key(page);
  if (key < first || (key - first) >> (8 * shape_.entry_bytes - ordinal_bits_) != 0) return;
  const uint64_t wanted = (key - first) << ordinal_bits_;
  const uint64_t end = wanted + (uint64_t{1} << ordinal_bits_);
  uint32_t low = 0;
  for (uint32_t high = KeyPage::count(page); low < high;) {
    const uint32_t middle = (low + high) / 2;
    if (KeyPage::entry(shape_, page, middle) < wanted)
      low = middle + 1;
    else
      high = middle;
  }
  for (; low < KeyPage::count(page); ++low) {
    const uint64_t entry = KeyPage::entry(shape_, page, low);
    if (entry >= end) break;
    ordinals.push_back(static_cast<uint32_t>(entry - wanted));
  }
}

absl::Status read_checked(const SegmentSource& source, uint64_t offset, uint8_t* out, uint64_t bytes,
                          uint32_t crc, std::string_view what) {
  constexpr uint64_t kPiece = uint64_t{1} << 18;  // stays in the cache for its checksum
  uint32_t found = 0;
  for (uint64_t at = 0; at < bytes; at += kPiece) {
    const uint64_t size = std::min(kPiece, bytes - at);
    RETURN_IF_ERROR(source.read_at(offset + at, out + at, size));
    found = crc32c({reinterpret_cast<const char*>(out) + at, size}, found);
  }
  if (found == crc) return absl::OkStatus();
  return absl::DataLossError(absl_sv(source.name() + ": the " + std::string(what) + " at offset " +
                                     std::to_string(offset) + " has a wrong checksum"));
}

absl::Status PageReader::read(std::span<const PageRead> reads) const {
  for (const PageRead& read : reads)
    RETURN_IF_ERROR(read.source->read_at(read.offset, read.out, kSegmentPage));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Segment>> Segment::open(const CandidateIndexOptions& options,
                                                       std::unique_ptr<SegmentSource> source) {
  std::string page(kSegmentPage, '\0');
  RETURN_IF_ERROR(source->read_at(0, page.data(), page.size()));
  ASSIGN_OR_RETURN(const SegmentHeader header, decode_segment_header(page, source->name()));
  if (header.scheme != segment_scheme(options) || header.stride != RowLayout(options).stride() ||
      header.with_prints != options.track_prints) {
    return absl::FailedPreconditionError(
        absl_sv(source->name() + ": belongs to an index with another key, other bands or other rows"));
  }
  auto segment = std::unique_ptr<Segment>(new Segment(header, std::move(source)));
  RETURN_IF_ERROR(segment->load());
  return segment;
}

Segment::Segment(const SegmentHeader& header, std::unique_ptr<SegmentSource> source)
    : header_(header), source_(std::move(source)), keys_(kRowKeys, header.keys, header.ordinal_bits()) {
  if (header.with_prints) prints_.emplace(kPrintKeys, header.prints, header.ordinal_bits());
}

absl::Status Segment::load() {
  RETURN_IF_ERROR(keys_.load(*source_));
  if (!header_.with_prints) return absl::OkStatus();
  print_counts_.resize(header_.rows);
  RETURN_IF_ERROR(read_checked(*source_, header_.counts_at(), print_counts_.data(), header_.rows,
                               header_.counts_crc, "list of counts"));
  return prints_->load(*source_);
}

uint64_t Segment::memory_bytes() const {
  return keys_.memory_bytes() + print_counts_.size() + (prints_ ? prints_->memory_bytes() : 0);
}

void Segment::copy_row(const uint8_t* bytes, uint64_t page, uint64_t ordinal, uint8_t* out) const {
  const uint64_t row = ordinal * header_.stride;
  const uint64_t begin = std::max(row, page * RowPage::kBytes);
  const uint64_t end = std::min(row + header_.stride, (page + 1) * RowPage::kBytes);
  std::memcpy(out + (begin - row), bytes + RowPage::kHead + (begin - page * RowPage::kBytes), end - begin);
}

absl::Status Segment::read_page(uint64_t offset, uint8_t* out) const {
  RETURN_IF_ERROR(source_->read_at(offset, out, kSegmentPage));
  return check_segment_page(*source_, offset, out);
}

namespace {

constexpr size_t kPages = 256;  // read at once: a megabyte

struct PageBuffer {
  alignas(kSegmentPage) uint8_t bytes[kPages][kSegmentPage];
};

bool same_page(const PageWant& a, const PageWant& b) {
  return a.segment == b.segment && a.offset == b.offset;
}

}  // namespace

absl::Status read_wanted(const PageReader& reader, std::vector<PageWant>& wants, uint64_t& count,
                         absl::FunctionRef<void(const PageWant& want, const uint8_t* bytes)> use) {
  thread_local std::unique_ptr<PageBuffer> buffer;
  if (wants.empty()) return absl::OkStatus();
  if (buffer == nullptr) buffer = std::make_unique<PageBuffer>();
  std::sort(wants.begin(), wants.end(), [](const PageWant& a, const PageWant& b) {
    return a.segment != b.segment ? a.segment->first() < b.segment->first() : a.offset < b.offset;
  });
  std::array<PageRead, kPages> reads;
  for (size_t from = 0; from < wants.size();) {
    size_t n = 0;
    size_t to = from;
    for (; to < wants.size(); ++to) {
      if (to > from && same_page(wants[to], wants[to - 1])) continue;
      if (n == kPages) break;
      reads[n] = {&wants[to].segment->source(), wants[to].offset, buffer->bytes[n]};
      ++n;
    }
    RETURN_IF_ERROR(reader.read(std::span(reads).first(n)));
    count += n;
    const PageRead* page = nullptr;
    for (size_t w = from; w < to; ++w) {
      if (page == nullptr || !same_page(wants[w], wants[w - 1])) {
        page = page == nullptr ? reads.data() : page + 1;
        RETURN_IF_ERROR(check_segment_page(*page->source, page->offset, page->out));
      }
      use(wants[w], page->out);
    }
    from = to;
  }
  wants.clear();
  return absl::OkStatus();
}

}  // namespace doppel
