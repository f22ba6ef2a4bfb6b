#pragma once
// A file of signed records: a header, frames, and an end. Several such files concatenated are also a valid
// file. A file may be compressed with gzip or zstd.
//
//    header  8   magic: "DPLSIGN" and 0x01
//            u32 version: 1
//            u32 length of what follows, without the checksum
//            string Scheme::describe(), string Scheme::text, string the format of the signed records
//            u32 CRC32C of everything before, including the magic
//    frame   u32 length of the record, more than 0
//            u32 CRC32C of these four bytes: so a damaged record does not hide where the next one begins
//            the record (signed_record.h)
//    end     a frame of length 0, without a record
//
// A file without an end was truncated, or is still being written.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace doppel {

inline constexpr std::string_view kSignedMagic{"DPLSIGN\x01", 8};
inline constexpr size_t kFrameHead = 2 * sizeof(uint32_t);
inline constexpr size_t kSignedHeaderHead = kSignedMagic.size() + 2 * sizeof(uint32_t);
inline constexpr size_t kSignedHeaderMost = 64 << 10;  // includes the checksum

struct SignedFileHeader {
  std::string scheme;  // Scheme::describe()
  std::string text;    // Scheme::text
  std::string format;  // input.format of the signed records
  bool operator==(const SignedFileHeader&) const = default;
};

void append_signed_header(const SignedFileHeader& header, std::string& out);
// Appends the head of a frame; length 0 marks the end.
void append_frame_head(uint32_t length, std::string& out);

// Returns the size of the header that starts with these bytes (at least kSignedHeaderHead of them).
// InvalidArgument: it is not a header, or of another version.
absl::StatusOr<size_t> signed_header_size(std::string_view head);
// Parses a whole header.
absl::StatusOr<SignedFileHeader> parse_signed_header(std::string_view bytes);
// Returns the length in a frame's head; nullopt if its checksum is wrong.
std::optional<uint32_t> parse_frame_head(std::string_view head);

}  // namespace doppel
