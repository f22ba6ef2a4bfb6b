#pragma once
// Makes segments: from an index in memory, and from other segments.

#include <span>

#include "index/index.h"
#include "index/segment.h"
#include "index/segment_io.h"

namespace doppel {

// A key takes 1.1 bits of memory for each column, and another key passes with 2^-columns (docs/adr/0040).
inline constexpr uint32_t kFilterColumns = 10;

// Bytes for each original in large segments.
struct SegmentBytesEach {
  double memory = 0;  // filter and directory
  double disk = 0;
};
SegmentBytesEach segment_bytes_each(const CandidateIndexOptions& options);

// Gathers the originals of a segment in the order of their numbers. Keeps rows and eight bytes for each key
// in memory.
class SegmentBuilder {
 public:
  // At most kRowsMost rows.
  static constexpr uint64_t kRowsMost = uint64_t{1} << 24;

  explicit SegmentBuilder(const CandidateIndexOptions& options, Seq first);
  // `band_keys`: one for each band, for rows with slices.
  void add(const Row& row, const uint64_t* band_keys);
  uint64_t rows() const { return rows_; }
  absl::Status write(uint32_t columns, SegmentSink& sink);

 private:
  void enter(size_t kind, uint64_t value);

  const CandidateIndexOptions options_;
  const RowLayout layout_;
  const SegmentKinds kinds_;
  const Seq first_;
  uint64_t rows_ = 0;
  PodVector<uint8_t> bytes_;     // of the rows
  PodVector<uint64_t> entries_;  // key above, ordinal in the lowest 24 bits
};

// Merges segments with consecutive numbers. Goes through the files from front to back, with about a megabyte
// for each in memory.
absl::Status merge_segments(const CandidateIndexOptions& options, std::span<const Segment* const> parts,
                            uint32_t columns, SegmentSink& sink);

}  // namespace doppel
