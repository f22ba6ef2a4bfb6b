#pragma once
// The result of SIGN as a record, from which a reader decides the same without the text. It has the same form
// in a file (signed_file.h) and as a Kafka message. Little endian:
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
//       order of the shingles, and prints (signed_prints.h): if their flag is set
//
// A string is its length as a varint, and its bytes. A null value is `skipped` with the flag 1 and an id tag.
// The reader decides whether it removes anything, and whether a new text under a key removes the old one
// (tombstones, on_update).

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
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

}  // namespace doppel
