#include "index/segment_format.h"

#include <bit>

#include "base/checksums.h"
#include "base/status.h"

namespace doppel {
namespace {

constexpr std::string_view kMagic = "doppelS\n";
constexpr uint32_t kVersion = 2;

uint64_t round_up(uint64_t bytes) { return (bytes + kSegmentPage - 1) / kSegmentPage * kSegmentPage; }

void put_part(std::string& out, const KeyPart& part) {
  put_fixed(out, part.at);
  put_fixed(out, part.entries);
  put_fixed(out, part.filter.chunks);
  put_fixed(out, part.filter.slots);
  put_fixed(out, part.filter.columns);
  put_fixed(out, part.pages);
  put_fixed(out, part.filter_crc);
  put_fixed(out, part.directory_crc);
}

KeyPart take_part(ByteReader& in) {
  KeyPart part;
  part.at = in.fixed<uint64_t>();
  part.entries = in.fixed<uint64_t>();
  part.filter.chunks = in.fixed<uint64_t>();
  part.filter.slots = in.fixed<uint32_t>();
  part.filter.columns = in.fixed<uint32_t>();
  part.pages = in.fixed<uint64_t>();
  part.filter_crc = in.fixed<uint32_t>();
  part.directory_crc = in.fixed<uint32_t>();
  return part;
}

bool possible(const KeyPart& part) {
  const FilterShape& filter = part.filter;
  return filter.chunks != 0 && filter.slots != 0 && filter.slots % 64 == 0 &&
         filter.columns >= FilterShape::kColumnsLeast && filter.columns <= FilterShape::kColumnsMost;
}

}  // namespace

uint64_t KeyPart::page_at(uint64_t page) const { return at + round_up(filter.bytes()) + page * kSegmentPage; }

int SegmentHeader::ordinal_bits() const { return rows <= 2 ? 1 : static_cast<int>(std::bit_width(rows - 1)); }

uint64_t SegmentHeader::row_pages() const { return (rows * stride + RowPage::kBytes - 1) / RowPage::kBytes; }

uint64_t SegmentHeader::keys_at() const { return counts_at() + (with_prints ? round_up(rows) : 0); }

uint64_t SegmentHeader::prints_at() const { return round_up(keys.end()); }

uint64_t segment_scheme(const CandidateIndexOptions& options) {
  uint64_t scheme = options.key.derive("segment");
  for (const int part : {options.num_perm, options.banding.bands, options.banding.rows,
                         int{options.track_ids}, int{options.track_payloads}})
    scheme = mix64(scheme ^ static_cast<uint64_t>(part));
  return options.track_prints ? mix64(scheme ^ options.passage) : scheme;
}

std::string encode_segment_header(const SegmentHeader& header) {
  std::string out;
  put_fixed(out, uint32_t{0});
  out.append(kMagic);
  put_fixed(out, kVersion);
  put_fixed(out, header.first);
  put_fixed(out, header.rows);
  put_fixed(out, header.stride);
  put_fixed(out, uint32_t{header.with_prints});
  put_fixed(out, header.counts_crc);
  put_part(out, header.keys);
  put_part(out, header.prints);
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
  header.with_prints = in.fixed<uint32_t>() != 0;
  header.counts_crc = in.fixed<uint32_t>();
  header.keys = take_part(in);
  header.prints = take_part(in);
  header.scheme = in.fixed<uint64_t>();
  if (header.rows > kSegmentRowsMax || header.stride == 0 || !possible(header.keys) ||
      (header.with_prints && !possible(header.prints)))
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
