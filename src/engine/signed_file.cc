#include "engine/signed_file.h"

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/status.h"

namespace doppel {
namespace {

constexpr uint32_t kVersion = 1;

}  // namespace

void append_signed_header(const SignedFileHeader& header, std::string& out) {
  const size_t start = out.size();
  std::string body;
  for (std::string_view part : {header.scheme, header.text, header.format}) put_string(body, part);
  out += kSignedMagic;
  put_fixed(out, kVersion);
  put_fixed(out, static_cast<uint32_t>(body.size()));
  out += body;
  put_fixed(out, crc32c(std::string_view(out).substr(start)));
}

void append_frame_head(uint32_t length, std::string& out) {
  const size_t start = out.size();
  put_fixed(out, length);
  put_fixed(out, crc32c(std::string_view(out).substr(start)));
}

absl::StatusOr<size_t> signed_header_size(std::string_view head) {
  if (!head.starts_with(kSignedMagic)) return invalid("not a file of signed records");
  ByteReader in(head.substr(kSignedMagic.size()));
  const auto version = in.fixed<uint32_t>();
  const auto length = in.fixed<uint32_t>();
  if (!in.ok()) return invalid("the header of a file of signed records is truncated");
  if (version != kVersion) {
    return invalid("a file of signed records of version " + std::to_string(version) +
                   "; this doppel reads version " + std::to_string(kVersion));
  }
  const size_t size = kSignedHeaderHead + size_t{length} + sizeof(uint32_t);
  if (size > kSignedHeaderMost) return invalid("the header of a file of signed records is damaged");
  return size;
}

absl::StatusOr<SignedFileHeader> parse_signed_header(std::string_view bytes) {
  ASSIGN_OR_RETURN(const size_t size, signed_header_size(bytes));
  const auto damaged = [] { return invalid("the header of a file of signed records is damaged"); };
  if (bytes.size() != size) return damaged();
  const size_t before = size - sizeof(uint32_t);
  if (load<uint32_t>(bytes.data() + before) != crc32c(bytes.substr(0, before))) return damaged();
  ByteReader in(bytes.substr(kSignedHeaderHead, before - kSignedHeaderHead));
  SignedFileHeader out;
  for (std::string* part : {&out.scheme, &out.text, &out.format}) part->assign(in.string());
  if (!in.done()) return damaged();
  return out;
}

std::optional<uint32_t> parse_frame_head(std::string_view head) {
  if (head.size() < kFrameHead) return std::nullopt;
  if (load<uint32_t>(head.data() + sizeof(uint32_t)) != crc32c(head.substr(0, sizeof(uint32_t))))
    return std::nullopt;
  return load<uint32_t>(head.data());
}

}  // namespace doppel
