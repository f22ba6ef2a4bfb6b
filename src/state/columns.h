#pragma once
// The columns of a state directory: the files "hot" and "bodies". Each begins with a header, as the journal
// does. Its 48 bytes (little endian):
//
//    0  8   magic: "doppel", then the kind: 'H' hot, 'B' bodies, 'J' journal, 'R' receipts, then '\n'
//    8  u32 version of the format: 2; of a journal 4 (older ones: 2 or 3)
//   12  u32 num_perm     (hot; else 0)
//   16  u32 mask_words   (hot; else 0)
//   20  16  epoch: the UUID of the index that the file belongs to
//   36  8   zero
//   44  u32 CRC32C of the 44 bytes before
//
// Files of different epochs are never mixed: a file that was copied from another directory is refused.

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <shared_mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/bodies.h"
#include "engine/resolved.h"
#include "state/file.h"

namespace doppel {

using Epoch = std::array<uint8_t, 16>;

absl::StatusOr<Epoch> make_epoch();            // a random (version 4) UUID
std::string epoch_string(const Epoch& epoch);  // 8-4-4-4-12 hex digits

constexpr size_t kFileHeaderBytes = 48;
constexpr uint32_t kStateVersion = 2;
constexpr uint32_t kJournalVersion = 4;

enum class FileKind : char { hot = 'H', bodies = 'B', journal = 'J', receipts = 'R' };

struct FileHeader {
  FileKind kind = FileKind::hot;
  uint32_t version = 0;  // as read; files are written in the newest version of their kind
  uint32_t num_perm = 0;
  uint32_t mask_words = 0;
  Epoch epoch{};
  bool operator==(const FileHeader&) const = default;
};

std::string encode_header(const FileHeader& header);
// Also reads older journals. The error says whether the file is foreign, damaged, or of another
// version of the format.
absl::StatusOr<FileHeader> read_header(const File& file, FileKind kind);

// The file "hot": the header, then one row per original, in the order of their numbers from
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

// The file "bodies": the header, then the bodies back to back. Each row has the offset and
// size of its body.
//
//    0  u32 CRC32C of the rest of the body, seeded with the CRC32C of its offset (u64)
//    4  varint length of the metadata
//    .  metadata
//    .  coded set, up to the end of the body
//
// Appended bodies stay in memory until flush(), or until there are kBufferBytes of them. A reader first
// compares with `flushed_`. Bytes below it are in the file, and reading them needs no lock. Bytes above it
// are read from memory, under a lock that the writer takes only while it changes that memory.
class BodiesFile final : public Bodies {
 public:
  static constexpr uint64_t kOffsetEnd = uint64_t{1} << 40;
  static constexpr size_t kBodyBytesEnd = size_t{1} << 24;
  static constexpr size_t kBufferBytes = 4 << 20;

  // Continues at `end` and overwrites what the file holds behind it.
  BodiesFile(File file, uint64_t end);

  absl::StatusOr<BodyRef> append(const Body& body) override;
  absl::StatusOr<Body> read(BodyRef ref, std::string& buffer) const override;
  absl::Status flush() override;
  uint64_t bytes() const override { return end_.load(std::memory_order_relaxed); }
  uint64_t reads() const override { return reads_.load(std::memory_order_relaxed); }

  const File& file() const { return file_; }
  // The CRC32C of the bytes that were flushed since the last call.
  uint32_t take_crc();
  // Frees the space below `offset`, which is not read any more. Best effort.
  void give_back_below(uint64_t offset) const { file_.punch(kFileHeaderBytes, offset); }

 private:
  const File file_;
  std::atomic<uint64_t> flushed_;    // the file holds all bytes below it
  std::atomic<uint64_t> end_;        // flushed_ + unflushed_.size()
  mutable std::shared_mutex mutex_;  // guards unflushed_
  std::string unflushed_;
  uint32_t crc_ = 0;
  mutable std::atomic<uint64_t> reads_ = 0;
};

}  // namespace doppel
