#include "state/file_header.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/status.h"

namespace doppel {
namespace {

std::string magic(FileKind kind) { return {'d', 'o', 'p', 'p', 'e', 'l', static_cast<char>(kind), '\n'}; }

uint32_t newest(FileKind kind) { return kind == FileKind::journal ? kJournalVersion : kStateVersion; }

}  // namespace

absl::StatusOr<Epoch> make_epoch() {
  Epoch epoch;
  RETURN_IF_ERROR(random_bytes(epoch.data(), epoch.size()));
  epoch[6] = static_cast<uint8_t>((epoch[6] & 0x0f) | 0x40);
  epoch[8] = static_cast<uint8_t>((epoch[8] & 0x3f) | 0x80);
  return epoch;
}

std::string epoch_string(const Epoch& epoch) {
  std::string out;
  for (size_t i = 0; i < epoch.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) out += '-';
    out += fmt::format("{:02x}", epoch[i]);
  }
  return out;
}

std::string encode_header(const FileHeader& header) {
  std::string out = magic(header.kind);
  put_fixed(out, newest(header.kind));
  put_fixed(out, header.num_perm);
  put_fixed(out, header.mask_words);
  out.append(header.epoch.begin(), header.epoch.end());
  put_fixed(out, uint64_t{0});
  put_fixed(out, crc32c(out));
  return out;
}

absl::StatusOr<FileHeader> read_header(const File& file, FileKind kind) {
  ASSIGN_OR_RETURN(const uint64_t size, file.size());
  std::string bytes(std::min<uint64_t>(size, kFileHeaderBytes), '\0');
  RETURN_IF_ERROR(file.read_at(0, bytes.data(), bytes.size()));
  if (bytes.substr(0, 8) != magic(kind)) {
    return absl::DataLossError(fmt::format(
        "{}: this is not a state file of doppel (its first bytes differ), or it was damaged at offset 0; "
        "restore it, or use another state directory",
        file.path()));
  }
  if (bytes.size() < kFileHeaderBytes) {
    return absl::DataLossError(
        fmt::format("{}: ends at offset {}, within its header of {} bytes; restore it, or use "
                    "another state directory",
                    file.path(), size, kFileHeaderBytes));
  }
  ByteReader reader(std::string_view(bytes).substr(8));
  const auto version = reader.fixed<uint32_t>();
  // Check the version first: other versions may store the checksum elsewhere. If ours is right, the file is
  // not damaged.
  if (version < kStateVersion || version > newest(kind)) {
    const std::string_view all = bytes;
    const bool fits =
        load<uint32_t>(bytes.data() + kFileHeaderBytes - 4) == crc32c(all.substr(0, kFileHeaderBytes - 4));
    return absl::Status(
        fits ? absl::StatusCode::kFailedPrecondition : absl::StatusCode::kDataLoss,
        fmt::format("{}: written in version {} of the format, this program reads version {}; use the program "
                    "that wrote it, or a "
                    "new state directory",
                    file.path(), version, newest(kind)));
  }
  FileHeader header{.kind = kind, .version = version};
  header.num_perm = reader.fixed<uint32_t>();
  header.mask_words = reader.fixed<uint32_t>();
  const std::string_view epoch = reader.bytes(header.epoch.size());
  std::copy(epoch.begin(), epoch.end(), header.epoch.begin());
  reader.fixed<uint64_t>();
  if (reader.fixed<uint32_t>() != crc32c(std::string_view(bytes).substr(0, kFileHeaderBytes - 4))) {
    return absl::DataLossError(
        fmt::format("{}: the header at offset 0 is damaged (its checksum does not fit); "
                    "restore the file, or use another state directory",
                    file.path()));
  }
  return header;
}

}  // namespace doppel
