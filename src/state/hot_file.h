#pragma once
// The file "hot": a header (file_header.h), then one row per original, in the order of their numbers from
// 0. All rows have the same length: row s begins at 48 + s * row_bytes.
//
//    0  u32 CRC32C of the rest of the row, seeded with the CRC32C of epoch and number (u64): a row of
//           another place or another index does not match
//    4  u32 flags: bit 0: it has slices (clear: the text is shorter than one shingle, and zeros follow);
//           bits 1 to 30: the payload's bits, 0 if unknown
//    8  u64 body: offset in "bodies" (low 40 bits), size << 40; size 0: none
//   16  u64 id tag
//   24  i64 record time in milliseconds; the least i64: none
//   32  16  digest, low half first
//   48  u32 x mask_words: the bands in which it is listed
//    .  num_perm slices, then zeros up to a multiple of 4
//
// A row has 180 bytes with num_perm 128 and one mask word. Rows are written once and never changed: removal
// and expiry are in the journal. Rows below the lowest live number may read as zeros.

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "engine/resolved.h"
#include "state/file.h"
#include "state/file_header.h"

namespace doppel {

class HotFormat {
 public:
  HotFormat(int num_perm, int mask_words, const Epoch& epoch);

  size_t row_bytes() const { return row_bytes_; }
  uint64_t offset(Seq seq) const { return kFileHeaderBytes + seq * row_bytes_; }

  void append(const StoredRow& stored, std::string& out) const;  // does not store `removed`
  // Sets everything but `removed`. The views point into `bytes` (row_bytes() of them, aligned to 4).
  // Returns false if the checksum does not match.
  bool decode(Seq seq, const char* bytes, StoredRow& stored) const;

  // Calls `visit` for the rows [from, to) in ascending order. Reads in blocks of 4 MiB.
  absl::Status scan(const File& file, Seq from, Seq to, const std::function<void(StoredRow&)>& visit) const;

 private:
  uint32_t seed(Seq seq) const;

  size_t num_perm_;
  size_t mask_words_;
  size_t row_bytes_;
  uint32_t epoch_crc_;
};

}  // namespace doppel
