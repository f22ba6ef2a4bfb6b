#include "files/read/signed_header.h"

#include <fcntl.h>

#include <memory>

#include "base/status.h"
#include "files/byte_stream.h"
#include "files/read/content.h"
#include "files/read/listing.h"

namespace doppel {
namespace {

std::optional<SignedFileHeader> header_of(ByteStream& stream) {
  std::string bytes;
  size_t wanted = kSignedHeaderHead;
  while (bytes.size() < wanted) {
    const size_t had = bytes.size();
    bytes.resize(wanted);
    const absl::StatusOr<size_t> got = stream.read(bytes.data() + had, wanted - had);
    if (!got.ok() || *got == 0) return std::nullopt;
    bytes.resize(had + *got);
    if (bytes.size() != kSignedHeaderHead || wanted != kSignedHeaderHead) continue;
    const absl::StatusOr<size_t> size = signed_header_size(bytes);
    if (!size.ok()) return std::nullopt;
    wanted = *size;
  }
  absl::StatusOr<SignedFileHeader> header = parse_signed_header(bytes);
  if (!header.ok()) return std::nullopt;
  return *std::move(header);
}

}  // namespace

absl::StatusOr<std::optional<SignedFileHeader>> first_signed_header(const std::vector<std::string>& paths) {
  const FilesSourceOptions options{.paths = paths, .layout = Layout::signed_records};
  ASSIGN_OR_RETURN(Listing listing, list_files(options));
  for (InputFile& file : listing.files) {
    if (file.pipe) continue;
    Fd fd(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.ok()) continue;
    look_inside(fd.get(), options, file);
    if (!file.refused.empty()) continue;
    const std::unique_ptr<ByteStream> stream =
        make_byte_stream(std::move(fd), file.packing, std::make_shared<std::atomic<uint64_t>>(0));
    if (std::optional<SignedFileHeader> header = header_of(*stream)) return header;
  }
  return std::nullopt;
}

}  // namespace doppel
