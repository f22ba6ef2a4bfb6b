#include "index/row_store.h"

#include <algorithm>
#include <cstring>

#include "base/bytes.h"

namespace doppel {

RowStore::RowStore(const IndexOptions& options)
    : num_perm_(static_cast<size_t>(options.num_perm)),
      mask_words_((static_cast<size_t>(options.banding.bands) + 31) / 32),
      track_ids_(options.track_ids) {
  digest_ = (num_perm_ + 7) / 8 * 8;
  body_ = digest_ + 16;
  id_ = body_ + 8;
  mask_ = id_ + (track_ids_ ? 8 : 0);
  flags_ = mask_ + 4 * mask_words_;
  stride_ = (flags_ + 4 + 7) / 8 * 8;
}

void RowStore::start_at(Seq seq) {
  chunks_.clear();
  low_ = next_ = seq;
  first_chunk_ = seq >> kChunkBits;
}

Seq RowStore::append(const Row& row) {
  const size_t chunk_bytes = stride_ << kChunkBits;
  if ((next_ >> kChunkBits) - first_chunk_ >= chunks_.size()) {
    // The first chunk may stay nearly empty for ever: no huge pages there.
    const size_t huge_from = chunks_.empty() ? chunk_bytes : 0;
    chunks_.emplace_back(Chunk{Pages(chunk_bytes, chunk_bytes, huge_from)}).pages.require(chunk_bytes);
  }
  uint8_t* out = mutable_at(next_);
  if (row.slices != nullptr) {
    std::memcpy(out, row.slices, num_perm_);
    std::memcpy(out + mask_, row.mask, 4 * mask_words_);
  }
  store(out + digest_, row.digest.low);
  store(out + digest_ + 8, row.digest.high);
  store(out + body_, (row.body.offset << 24) | (row.body.size & 0xffffff));
  if (track_ids_) store(out + id_, row.id_tag);
  store<uint32_t>(out + flags_, (row.slices != nullptr ? kSliced : 0) | row.payload << kPayloadShift);
  return next_++;
}

bool RowStore::remove(Seq seq) {
  if (!live(seq)) return false;
  uint8_t* row = mutable_at(seq);
  store<uint32_t>(row + flags_, *flags(row) | kRemoved);
  ++removed_;
  ++chunk_of(seq).removed;
  return true;
}

void RowStore::expire_below(Seq seq) {
  seq = std::min(seq, next_);
  if (seq <= low_) return;
  const Seq chunk_start = seq >> kChunkBits << kChunkBits;
  // Chunks that go as a whole.
  for (; first_chunk_ < seq >> kChunkBits && !chunks_.empty(); ++first_chunk_) {
    removed_ -= chunks_.front().removed;
    chunks_.pop_front();
  }
  // Rows of the first chunk that stays.
  if (!chunks_.empty() && chunks_.front().removed > 0) {
    for (Seq s = std::max(low_, chunk_start); s < seq; ++s) {
      const uint64_t gone = *flags(at(s)) & kRemoved;
      removed_ -= gone;
      chunks_.front().removed -= gone;
    }
  }
  low_ = seq;
  if (chunks_.empty()) first_chunk_ = low_ >> kChunkBits;
}

Row RowStore::row(Seq seq) const {
  const uint8_t* p = at(seq);
  Row row;
  if (*flags(p) & kSliced) {
    row.slices = p;
    row.mask = mask(p);
  }
  row.digest = digest(p);
  row.id_tag = id_tag(p);
  row.payload = payload(p);
  const auto body = load<uint64_t>(p + body_);
  row.body = {body >> 24, static_cast<uint32_t>(body & 0xffffff)};
  return row;
}

uint64_t RowStore::bytes() const {
  if (next_ == low_) return 0;
  return (next_ - (std::max(low_, first_chunk_ << kChunkBits) >> kChunkBits << kChunkBits)) * stride_;
}

}  // namespace doppel
