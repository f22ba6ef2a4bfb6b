#pragma once
// A file of signed records: a header, frames, an end. Several such files back to back are one, too. All of it
// may be packed with gzip or zstd.
//
//    header  8   magic: "DPLSIGN" and 0x01
//            u32 version: 1
//            u32 length of what follows, without the checksum
//            string Scheme::describe(), string Scheme::text, string the format of the records that were
//            signed u32 CRC32C of everything before, the magic included
//    frame   u32 length of the record, more than 0
//            u32 CRC32C of these four bytes: so a damaged record does not hide where the next one begins
//            the record (signed_record.h)
//    end     a frame of length 0, without a record
//
// A file without an end was cut, or is still being written.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace doppel {

inline constexpr std::string_view kSignedMagic{"DPLSIGN\x01", 8};
inline constexpr size_t kFrameHead = 2 * sizeof(uint32_t);
inline constexpr size_t kSignedHeaderHead = kSignedMagic.size() + 2 * sizeof(uint32_t);
inline constexpr size_t kSignedHeaderMost = 64 << 10;  // with the checksum

struct SignedFileHeader {
  std::string scheme;  // Scheme::describe()
  std::string text;    // Scheme::text
  std::string format;  // input.format of what was signed
  bool operator==(const SignedFileHeader&) const = default;
};

void append_signed_header(const SignedFileHeader& header, std::string& out);
// The head of a frame; 0: the end.
void append_frame_head(uint32_t length, std::string& out);

// How long the header is that begins with these bytes (at least kSignedHeaderHead of them). InvalidArgument:
// it is none, or of another version.
absl::StatusOr<size_t> signed_header_size(std::string_view head);
// A whole header.
absl::StatusOr<SignedFileHeader> parse_signed_header(std::string_view bytes);
// The length that a frame's head says; nothing where its checksum is wrong.
std::optional<uint32_t> parse_frame_head(std::string_view head);

}  // namespace doppel
