#pragma once
// The rows of originals by sequence number, in chunks of 65,536 rows that are released as a whole.
//
// A row: slices (num_perm, padded to 8), digest (16), body (8: 40 bits of offset, 24 of size), id tag (8, if
// tracked), mask words, and one word of flags and payload. 160 bytes with 128 slices.

#include <cstdint>
#include <deque>
#include <optional>

#include "base/bytes.h"
#include "index/index.h"
#include "index/pages.h"

namespace doppel {

class RowStore {
 public:
  static constexpr int kChunkBits = 16;
  static constexpr int kBodyOffsetBits = 40;
  static constexpr uint32_t kRemoved = 1;  // flags
  static constexpr uint32_t kSliced = 2;
  static constexpr int kPayloadShift = 2;  // the payload is above the flags

  explicit RowStore(const CandidateIndexOptions& options);

  Seq next() const { return next_; }
  Seq low() const { return low_; }
  uint64_t removed() const { return removed_; }  // rows in the window
  uint64_t bytes() const;

  bool in_window(Seq seq) const { return seq - low_ < next_ - low_; }
  bool live(Seq seq) const { return in_window(seq) && (*flags(at(seq)) & kRemoved) == 0; }

  void start_at(Seq seq);
  Seq append(const Row& row);
  bool remove(Seq seq);
  void revive(Seq seq);  // undoes a remove()
  void expire_below(Seq seq);
  Row row(Seq seq) const;

  // The bytes of a row in the window, and their layout.
  const uint8_t* at(Seq seq) const {
    const uint64_t chunk = (seq >> kChunkBits) - first_chunk_;
    return chunks_[chunk].pages.data() + (seq & ((uint64_t{1} << kChunkBits) - 1)) * stride_;
  }
  Digest digest(const uint8_t* row) const {
    return {load<uint64_t>(row + digest_), load<uint64_t>(row + digest_ + 8)};
  }
  uint64_t id_tag(const uint8_t* row) const { return track_ids_ ? load<uint64_t>(row + id_) : 0; }
  const uint32_t* mask(const uint8_t* row) const { return reinterpret_cast<const uint32_t*>(row + mask_); }
  const uint32_t* flags(const uint8_t* row) const { return reinterpret_cast<const uint32_t*>(row + flags_); }
  uint32_t payload(const uint8_t* row) const { return *flags(row) >> kPayloadShift; }
  // Whether the row has slices and is not removed.
  bool comparable(const uint8_t* row) const { return (*flags(row) & (kRemoved | kSliced)) == kSliced; }
  size_t digest_offset() const { return digest_; }
  size_t stride() const { return stride_; }

 private:
  // The next chunk is allocated when this share of the last one is used, because the system provides memory
  // slowly.
  static constexpr uint64_t kAheadFrom = (uint64_t{1} << kChunkBits) * 3 / 4;
  Pages make_chunk(bool first) const;
  struct Chunk {
    Pages pages;
    uint64_t removed = 0;  // number of removed rows that have not expired
  };
  Chunk& chunk_of(Seq seq) { return chunks_[(seq >> kChunkBits) - first_chunk_]; }
  uint8_t* mutable_at(Seq seq) { return const_cast<uint8_t*>(at(seq)); }

  size_t num_perm_;
  size_t mask_words_;
  bool track_ids_;
  size_t digest_, body_, id_, mask_, flags_, stride_;  // offsets in a row

  FreshMemory fresh_;
  std::deque<Chunk> chunks_;
  std::optional<Pages> next_chunk_;  // if it is allocated already
  uint64_t first_chunk_ = 0;         // number of chunks_[0]
  Seq low_ = 0;
  Seq next_ = 0;
  uint64_t removed_ = 0;
};

}  // namespace doppel
