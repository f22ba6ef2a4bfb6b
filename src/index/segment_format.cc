#include "index/segment_format.h"

#include <bit>

#include "base/crc32c.h"
#include "base/status.h"

namespace doppel {
namespace {

constexpr std::string_view kMagic = "doppelS\n";
constexpr uint32_t kVersion = 1;

uint64_t round_up(uint64_t bytes) { return (bytes + kSegmentPage - 1) / kSegmentPage * kSegmentPage; }

}  // namespace

int SegmentHeader::ordinal_bits() const { return rows <= 2 ? 1 : static_cast<int>(std::bit_width(rows - 1)); }

uint64_t SegmentHeader::row_pages() const {
  const uint64_t each = RowPage::rows(stride);
  return (rows + each - 1) / each;
}

uint64_t SegmentHeader::key_page_at(uint64_t page) const {
  return filter_at() + round_up(filter.bytes()) + page * kSegmentPage;
}

uint64_t segment_scheme(const CandidateIndexOptions& options) {
  uint64_t scheme = options.key.derive("segment");
  for (const int part : {options.num_perm, options.banding.bands, options.banding.rows,
                         int{options.track_ids}, int{options.track_payloads}})
    scheme = mix64(scheme ^ static_cast<uint64_t>(part));
  return scheme;
}

std::string encode_segment_header(const SegmentHeader& header) {
  std::string out;
  put_fixed(out, uint32_t{0});
  out.append(kMagic);
  put_fixed(out, kVersion);
  put_fixed(out, header.first);
  put_fixed(out, header.rows);
  put_fixed(out, header.stride);
  put_fixed(out, header.entries);
  put_fixed(out, header.filter.chunks);
  put_fixed(out, header.filter.slots);
  put_fixed(out, header.filter.columns);
  put_fixed(out, header.key_pages);
  put_fixed(out, header.filter_crc);
  put_fixed(out, header.directory_crc);
  put_fixed(out, header.scheme);
  out.resize(kSegmentPage);
  store(out.data(), segment_page_crc(0, reinterpret_cast<const uint8_t*>(out.data())));
  return out;
}

absl::StatusOr<SegmentHeader> decode_segment_header(std::string_view page, const std::string& name) {
  ByteReader in(page);
  in.fixed<uint32_t>();
  if (page.size() != kSegmentPage || in.bytes(kMagic.size()) != kMagic)
    return absl::DataLossError(absl_sv(name + ": is not a segment of an index"));
  RETURN_IF_ERROR(check_segment_page(name, 0, reinterpret_cast<const uint8_t*>(page.data())));
  const auto version = in.fixed<uint32_t>();
  if (version != kVersion) {
    return absl::FailedPreconditionError(absl_sv(name + ": is a segment of version " +
                                                 std::to_string(version) + "; this program reads version " +
                                                 std::to_string(kVersion)));
  }
  SegmentHeader header;
  header.first = in.fixed<uint64_t>();
  header.rows = in.fixed<uint64_t>();
  header.stride = in.fixed<uint32_t>();
  header.entries = in.fixed<uint64_t>();
  header.filter.chunks = in.fixed<uint64_t>();
  header.filter.slots = in.fixed<uint32_t>();
  header.filter.columns = in.fixed<uint32_t>();
  header.key_pages = in.fixed<uint64_t>();
  header.filter_crc = in.fixed<uint32_t>();
  header.directory_crc = in.fixed<uint32_t>();
  header.scheme = in.fixed<uint64_t>();
  if (header.rows > kSegmentRowsMax || header.stride == 0 || header.stride > kSegmentPage - RowPage::kHead ||
      header.filter.chunks == 0 || header.filter.slots < 64 || header.filter.slots % 64 != 0 ||
      header.filter.columns < FilterShape::kColumnsLeast || header.filter.columns > FilterShape::kColumnsMost)
    return absl::DataLossError(absl_sv(name + ": its header is impossible"));
  return header;
}

uint32_t segment_page_crc(uint64_t offset, const uint8_t* page) {
  char seed[sizeof offset];
  store(seed, offset);
  return crc32c({reinterpret_cast<const char*>(page) + 4, kSegmentPage - 4}, crc32c({seed, sizeof seed}));
}

absl::Status check_segment_page(const std::string& name, uint64_t offset, const uint8_t* page) {
  if (load<uint32_t>(page) == segment_page_crc(offset, page)) return absl::OkStatus();
  return absl::DataLossError(
      absl_sv(name + ": the page at offset " + std::to_string(offset) + " has a wrong checksum"));
}

absl::Status check_segment_page(const SegmentSource& source, uint64_t offset, const uint8_t* page) {
  absl::Status status = check_segment_page(source.name(), offset, page);
  if (!status.ok()) source.discard();
  return status;
}

}  // namespace doppel
