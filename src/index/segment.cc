#include "index/segment.h"

#include <algorithm>
#include <cstring>

#include "base/crc32c.h"
#include "base/status.h"

namespace doppel {

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

}  // namespace doppel
