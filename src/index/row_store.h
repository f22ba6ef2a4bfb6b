#pragma once
// The rows of originals by sequence number, in chunks of 65,536 rows that are released as a whole.

#include <cstdint>
#include <cstring>
#include <deque>
#include <optional>

#include "base/bytes.h"
#include "index/index.h"
#include "index/pages.h"

namespace doppel {

// The bytes of an original's row: slices (num_perm, padded to 8), digest (16), body (8: 40 bits of offset, 24
// of size), id tag (8, if tracked), mask words, and one word of flags and payload. 160 bytes with 128 slices.
class RowLayout {
 public:
  static constexpr int kBodyOffsetBits = 40;
  static constexpr uint32_t kRemoved = 1;  // flags
  static constexpr uint32_t kSliced = 2;
  static constexpr int kPayloadShift = 2;  // the payload is above the flags

  explicit RowLayout(const CandidateIndexOptions& options)
      : num_perm_(static_cast<size_t>(options.num_perm)),
        mask_words_(static_cast<size_t>(options.banding.mask_words())),
        track_ids_(options.track_ids),
        digest_((num_perm_ + 7) / 8 * 8),
        body_(digest_ + 16),
        id_(body_ + 8),
        mask_(id_ + (track_ids_ ? 8 : 0)),
        flags_(mask_ + 4 * mask_words_),
        stride_((flags_ + 4 + 7) / 8 * 8) {}

  size_t stride() const { return stride_; }
  size_t digest_offset() const { return digest_; }

  Digest digest(const uint8_t* row) const {
    return {load<uint64_t>(row + digest_), load<uint64_t>(row + digest_ + 8)};
  }
  uint64_t id_tag(const uint8_t* row) const { return track_ids_ ? load<uint64_t>(row + id_) : 0; }
  const uint32_t* mask(const uint8_t* row) const { return reinterpret_cast<const uint32_t*>(row + mask_); }
  const uint32_t* flags(const uint8_t* row) const { return reinterpret_cast<const uint32_t*>(row + flags_); }
  void set_flags(uint8_t* row, uint32_t flags) const { store(row + flags_, flags); }
  uint32_t payload(const uint8_t* row) const { return *flags(row) >> kPayloadShift; }
  bool sliced(const uint8_t* row) const { return (*flags(row) & kSliced) != 0; }
  // Whether the row has slices and is not removed.
  bool comparable(const uint8_t* row) const { return (*flags(row) & (kRemoved | kSliced)) == kSliced; }

  // The views point into `row`.
  Row read(const uint8_t* row) const {
    Row out;
    if (sliced(row)) {
      out.slices = row;
      out.mask = mask(row);
    }
    out.digest = digest(row);
    out.id_tag = id_tag(row);
    out.payload = payload(row);
    const auto body = load<uint64_t>(row + body_);
    out.body = {body >> 24, static_cast<uint32_t>(body & 0xffffff)};
    return out;
  }
  // The bytes at `out` are zero before.
  void write(const Row& row, uint8_t* out) const {
    if (row.slices != nullptr) {
      std::memcpy(out, row.slices, num_perm_);
      std::memcpy(out + mask_, row.mask, 4 * mask_words_);
    }
    store(out + digest_, row.digest.low);
    store(out + digest_ + 8, row.digest.high);
    store(out + body_, (row.body.offset << 24) | (row.body.size & 0xffffff));
    if (track_ids_) store(out + id_, row.id_tag);
    set_flags(out, (row.slices != nullptr ? kSliced : 0) | row.payload << kPayloadShift);
  }

 private:
  size_t num_perm_;
  size_t mask_words_;
  bool track_ids_;
  size_t digest_, body_, id_, mask_, flags_, stride_;  // offsets in a row
};

class RowStore : public RowLayout {
 public:
  static constexpr int kChunkBits = 16;

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

  // The bytes of a row in the window.
  const uint8_t* at(Seq seq) const {
    const uint64_t chunk = (seq >> kChunkBits) - first_chunk_;
    return chunks_[chunk].pages.data() + (seq & ((uint64_t{1} << kChunkBits) - 1)) * stride();
  }

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

  FreshMemory fresh_;
  std::deque<Chunk> chunks_;
  std::optional<Pages> next_chunk_;  // if it is allocated already
  uint64_t first_chunk_ = 0;         // number of chunks_[0]
  Seq low_ = 0;
  Seq next_ = 0;
  uint64_t removed_ = 0;
};

// The number of tables of an index: one for each band, one of digests, and those of ids and payloads.
inline size_t tables_of(const CandidateIndexOptions& o) {
  return static_cast<size_t>(o.banding.bands) + 1 + (o.track_ids ? 1 : 0) + (o.track_payloads ? 1 : 0);
}

}  // namespace doppel
