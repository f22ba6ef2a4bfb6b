#pragma once
// The rows of originals by sequence number, in chunks of 65,536 rows that are released as a whole.

#include <cstdint>
#include <deque>
#include <optional>

#include "index/index.h"
#include "index/pages.h"
#include "index/row_layout.h"

namespace doppel {

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

}  // namespace doppel
