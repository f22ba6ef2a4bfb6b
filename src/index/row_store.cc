#include "index/row_store.h"

#include <algorithm>
#include <optional>

#include "base/check.h"
#include "base/memory_limit.h"
#include "index/line_table.h"
#include "index/print_table.h"

namespace doppel {

RowStore::RowStore(const CandidateIndexOptions& options) : RowLayout(options), fresh_(options.fresh) {}

void RowStore::start_at(Seq seq) {
  DOPPEL_CHECK(low_ == next_, "numbering begins elsewhere only while there are no rows", low_, next_, seq);
  chunks_.clear();
  low_ = next_ = seq;
  first_chunk_ = seq >> kChunkBits;
}

Pages RowStore::make_chunk(bool first) const {
  const size_t bytes = stride() << kChunkBits;
  // The first chunk may stay nearly empty, so it gets no huge pages.
  Pages pages(bytes, bytes, first ? bytes : 0);
  pages.require(bytes);
  return pages;
}

Seq RowStore::append(const Row& row) {
  DOPPEL_CHECK(row.body.offset >> kBodyOffsetBits == 0 && row.body.size >> (64 - kBodyOffsetBits) == 0,
               "offset and length of a body fit into its row", next_, row.body.offset, row.body.size);
  DOPPEL_CHECK(row.slices == nullptr || row.mask != nullptr,
               "a row with slices says in which bands it is listed", next_);
  if ((next_ >> kChunkBits) - first_chunk_ >= chunks_.size()) {
    chunks_.emplace_back(Chunk{next_chunk_ ? std::move(*next_chunk_) : make_chunk(chunks_.empty())});
    next_chunk_.reset();
  }
  const uint64_t number = next_ & ((uint64_t{1} << kChunkBits) - 1);
  if (number % 64 == 0) {
    chunks_.back().pages.ahead((number + 64) * stride(), kHugePage, fresh_);
    if (number >= kAheadFrom && fresh_) {
      if (!next_chunk_) next_chunk_ = make_chunk(false);
      next_chunk_->ahead(0, kHugePage, fresh_);
    }
  }
  write(row, mutable_at(next_));
  return next_++;
}

bool RowStore::remove(Seq seq) {
  if (!live(seq)) return false;
  uint8_t* row = mutable_at(seq);
  set_flags(row, *flags(row) | kRemoved);
  ++removed_;
  ++chunk_of(seq).removed;
  return true;
}

void RowStore::revive(Seq seq) {
  uint8_t* row = mutable_at(seq);
  set_flags(row, *flags(row) & ~kRemoved);
  --removed_;
  --chunk_of(seq).removed;
}

void RowStore::expire_below(Seq seq) {
  seq = std::min(seq, next_);
  if (seq <= low_) return;
  const Seq chunk_start = seq >> kChunkBits << kChunkBits;
  // Releases whole chunks.
  for (; first_chunk_ < seq >> kChunkBits && !chunks_.empty(); ++first_chunk_) {
    removed_ -= chunks_.front().removed;
    chunks_.pop_front();
  }
  // Handles the expired rows of the first remaining chunk.
  if (!chunks_.empty() && chunks_.front().removed > 0) {
    for (Seq s = std::max(low_, chunk_start); s < seq; ++s) {
      const uint64_t gone = *flags(at(s)) & kRemoved;
      removed_ -= gone;
      chunks_.front().removed -= gone;
    }
  }
  low_ = seq;
  if (chunks_.empty()) first_chunk_ = low_ >> kChunkBits;
  DOPPEL_CHECK(removed_ <= next_ - low_, "no more rows are removed than there are", removed_, low_, next_);
}

Row RowStore::row(Seq seq) const {
  DOPPEL_CHECK(in_window(seq), "a row that is asked for is in the window", seq, low_, next_);
  return read(at(seq));
}

uint64_t RowStore::bytes() const {
  if (next_ == low_) return 0;
  return (next_ - (std::max(low_, first_chunk_ << kChunkBits) >> kChunkBits << kChunkBits)) * stride();
}

namespace {

// Share of the address space for the index; the rest is for documents, threads and the heap.
constexpr double kShareOfIndex = .7;
// Address space that a table reserves for each entry: more than the entry takes.
constexpr double kReservedEach = static_cast<double>(sizeof(Line)) / 7;

}  // namespace

uint64_t rows_with_room(const CandidateIndexOptions& options) {
  const std::optional<uint64_t> left = address_space_left();
  if (!left) return kIndexRowsMax;
  const double row_bytes = static_cast<double>(RowStore(options).stride()) +
                           static_cast<double>(tables_of(options)) * kReservedEach;
  const double rows = static_cast<double>(*left) * kShareOfIndex /
                      static_cast<double>(std::max<uint64_t>(1, options.indexes)) / row_bytes;
  return static_cast<uint64_t>(std::min(rows, static_cast<double>(kIndexRowsMax)));
}

double prints_each(uint32_t passage) {
  // Pages have 613 shingles on average, but most are far shorter (docs/adr/0033).
  constexpr double kPrintsLeast = 13.8;
  constexpr double kShingles = 613;
  return std::max(kPrintsLeast, 2 * kShingles / (passage + 1.0));
}

BytesEach bytes_each(const CandidateIndexOptions& options) {
  return {.row = static_cast<double>(RowStore(options).stride()),
          .tables = static_cast<double>(tables_of(options)) * LineTable::bytes_each(),
          .prints = options.track_prints ? 1 + prints_each(options.passage) * PrintTable::bytes_each() : 0};
}

}  // namespace doppel
