#pragma once
// The result of SIGN as a record, from which a reader decides the same without the text. It has the same form
// in a file (below) and as a Kafka message. Little endian:
//
//    0  u32 CRC32C of all that follows
//    4  u8  version: 1
//    5  u64 fingerprint of the data scheme: key.derive(Scheme::describe()), which events name, too
//   13  u8  content (Content)
//   14  u8  flags: 1 removes the originals with its id tag, 2 the set was left out, 4 a coded set, 8 a
//           payload digest, 16 an id tag, 32 a time, 64 prints
//   15  string source (topic or file), varint partition + 1 (0: a file), varint begin, varint end - begin
//       u64 u64 digest, if the content is shingled or digest_only
//       u64 u64 payload digest, u64 id tag, i64 time: each if its flag is set
//       varint number of slices, and the slices: if the content is shingled
//       string coded set: if its flag is set
//       string metadata, string reason, string record
//       order of the shingles, and prints (see below): if their flag is set
//
// A string is its length as a varint, and its bytes. A null value is `skipped` with the flag 1 and an id tag.
// The reader decides whether it removes anything, and whether a new text under a key removes the old one
// (tombstones, on_update).

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/sign.h"

namespace doppel {

inline constexpr uint8_t kSignedRecordVersion = 1;

// Where a signed document came from. Its range starts where the range of the previous record ended; offsets
// in between had no document. So a reader can tell a repeated record, a new one and a gap apart.
struct SignedOrigin {
  std::string_view source;  // topic or file
  int32_t partition = -1;   // -1: a file
  uint64_t begin = 0;
  uint64_t end = 0;  // after the record
  bool operator==(const SignedOrigin&) const = default;
};

// The fingerprint in every record.
uint64_t scheme_fingerprint(const Scheme& scheme);

// Replaces `tops` with `coded_set`.
void code_set(SignedDocument& document);

// Appends the record of a document with a coded set. `replace` is not stored. `slices` are those of a
// shingled document. The document must not be `unread`.
void encode_signed_record(uint64_t fingerprint, const SignedOrigin& origin, const SignedDocument& document,
                          std::span<const uint8_t> slices, std::string& out);

// Returns the fingerprint of the scheme that a record was signed with, after checking checksum and version.
// InvalidArgument says what is wrong.
absl::StatusOr<uint64_t> fingerprint_of_signed_record(std::string_view bytes);

// Fills `out`, `slices` (num_perm bytes) and `origin`, whose source points into `bytes`. Does not parse the
// coded set, the metadata and the record. InvalidArgument: the bytes are not a signed record, are damaged, or
// have another version or scheme; then `out` is unspecified.
absl::Status decode_signed_record(std::string_view bytes, uint64_t fingerprint, int num_perm,
                                  SignedOrigin& origin, SignedDocument& out, uint8_t* slices);

// The part of a signed record that relations need: the order of a text's shingles, and its prints.
//
//    varint number n of shingles
//    bits   n ranks: the index of each shingle's value in the coded set, each in as few bits as the largest
//           index needs, low bits first, padded to whole bytes
//    varint number of prints; each: varint position of its shingle minus the previous position (at first:
//           minus 0), and 6 bytes: 44 bits of key; the highest bit: an original stores it

// Appends them. The document needs tops, prints and the coded set of these tops.
void put_signed_prints(std::string& out, const SignedDocument& document);
// Fills tops and prints of a document that has its coded set. InvalidArgument: the bytes do not match the
// set.
absl::Status take_signed_prints(std::string_view bytes, SignedDocument& document);

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
//            the record (see above)
//    end     a frame of length 0, without a record
//
// A file without an end was truncated, or is still being written.
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
