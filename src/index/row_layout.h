#pragma once
// The bytes of an original's row: slices (num_perm, padded to 8), digest (16), body (8: 40 bits of offset, 24
// of size), id tag (8, if tracked), mask words, and one word of flags and payload. 160 bytes with 128 slices.

#include <cstring>

#include "base/bytes.h"
#include "index/index.h"

namespace doppel {

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

}  // namespace doppel
