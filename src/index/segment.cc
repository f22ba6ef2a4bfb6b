#include "index/segment.h"

#include <algorithm>

#include "base/crc32c.h"
#include "base/status.h"

namespace doppel {
namespace {

// Reads bytes that are not in pages, in pieces that stay in the cache for their checksum.
absl::Status read_checked(const SegmentSource& source, uint64_t offset, uint8_t* out, uint64_t bytes,
                          uint32_t crc, std::string_view what) {
  constexpr uint64_t kPiece = uint64_t{1} << 18;
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

}  // namespace

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
  if (header.scheme != segment_scheme(options) || header.stride != RowLayout(options).stride()) {
    return absl::FailedPreconditionError(
        absl_sv(source->name() + ": belongs to an index with another key, other bands or other rows"));
  }
  auto segment = std::unique_ptr<Segment>(new Segment(header, std::move(source)));
  RETURN_IF_ERROR(segment->load());
  return segment;
}

Segment::Segment(const SegmentHeader& header, std::unique_ptr<SegmentSource> source)
    : header_(header), source_(std::move(source)), rows_in_page_(RowPage::rows(header.stride)) {}

absl::Status Segment::load() {
  const uint64_t bytes = header_.filter.bytes();
  const uint64_t room = bytes + 8 * header_.filter.columns;  // probes read one block more
  filter_ = Pages(room, room, room < kHugePage ? room : 0);
  filter_.require(room);
  RETURN_IF_ERROR(
      read_checked(*source_, header_.filter_at(), filter_.data(), bytes, header_.filter_crc, "filter"));
  directory_.resize(header_.key_pages);
  return read_checked(*source_, header_.directory_at(), reinterpret_cast<uint8_t*>(directory_.data()),
                      4 * directory_.size(), header_.directory_crc, "directory");
}

bool Segment::has(uint64_t key, bool repeated) const {
  const uint64_t coefficients = filter_coefficients(key, repeated);
  uint32_t hit = 0;
  return probe(filter_probe_scalar, &key, &coefficients, 1, &hit) != 0;
}

Segment::Range Segment::key_pages_of(uint64_t key) const {
  if (directory_.empty()) return {};
  const auto top = static_cast<uint32_t>(key >> (kSegmentKeyBits - 32));
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

void Segment::find(const uint8_t* page, uint64_t key, PodVector<uint32_t>& ordinals) const {
  const uint64_t first = KeyPage::first_key(page);
  const int bits = header_.ordinal_bits();
  if (key < first || (key - first) >> (KeyPage::kEntryBits - bits) != 0) return;
  const uint64_t wanted = (key - first) << bits;
  const uint64_t end = wanted + (uint64_t{1} << bits);
  uint32_t low = 0;
  for (uint32_t high = KeyPage::count(page); low < high;) {
    const uint32_t middle = (low + high) / 2;
    if (KeyPage::entry(page, middle) < wanted)
      low = middle + 1;
    else
      high = middle;
  }
  for (; low < KeyPage::count(page); ++low) {
    const uint64_t entry = KeyPage::entry(page, low);
    if (entry >= end) break;
    ordinals.push_back(static_cast<uint32_t>(entry - wanted));
  }
}

absl::Status Segment::read_page(uint64_t offset, uint8_t* out) const {
  RETURN_IF_ERROR(source_->read_at(offset, out, kSegmentPage));
  return check_segment_page(*source_, offset, out);
}

}  // namespace doppel
