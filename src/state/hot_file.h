#pragma once
// The file "hot": a header (file_header.h), then one row for every original, in order of their
// numbers from 0, all of one length, so that row s begins at 48 + s * row_bytes.
//
//    0  u32 CRC32C of the rest of the row, seeded with the CRC32C of epoch and number (u64): a row that
//           is at another place, or in another index, does not fit
//    4  u32 flags: bit 0: it has slices (clear: below one shingle, zeros instead); bits 1 to 30: its
//    payload's
//           bits, 0 if none is known
//    8  u64 body: offset in "bodies" (low 40 bits), size << 40; size 0: none
//   16  u64 id tag
//   24  i64 record time in milliseconds; the least i64: none
//   32  16  digest, low half first
//   48  u32 x mask_words: the bands in which it is listed
//    .  num_perm slices, then zeros up to a multiple of 4
//
// 180 bytes with num_perm 128 and one mask word. Rows are written once and never changed: removal
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

  void append(const StoredRow& stored, std::string& out) const;  // `removed` is not kept here
  // Everything but `removed`. The views point into `bytes` (row_bytes() of them, aligned to 4). False: the
  // checksum does not fit.
  bool decode(Seq seq, const char* bytes, StoredRow& stored) const;

  // Calls `visit` for the rows [from, to), ascending; reads in blocks of megabytes.
  absl::Status scan(const File& file, Seq from, Seq to, const std::function<void(StoredRow&)>& visit) const;

 private:
  uint32_t seed(Seq seq) const;

  size_t num_perm_;
  size_t mask_words_;
  size_t row_bytes_;
  uint32_t epoch_crc_;
};

}  // namespace doppel
