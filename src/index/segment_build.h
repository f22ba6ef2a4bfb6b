#pragma once
// Makes segments: from an index in memory, and from other segments.

#include <span>
#include <vector>

#include "index/index.h"
#include "index/segment.h"
#include "index/segment_format.h"

namespace doppel {

// A key takes 1.1 bits of memory for each column, and another key passes with 2^-columns (docs/adr/0040).
inline constexpr uint32_t kFilterColumns = 10;

// Bytes for each original in large segments; with prints, for a typical web page.
struct SegmentBytesEach {
  double memory = 0;  // filters and directories
  double disk = 0;
};
SegmentBytesEach segment_bytes_each(const CandidateIndexOptions& options);

// Gathers the originals of a segment in the order of their numbers. Keeps rows and eight bytes for each key
// and print in memory.
class SegmentBuilder {
 public:
  static uint64_t rows_most(const CandidateIndexOptions& options);

  explicit SegmentBuilder(const CandidateIndexOptions& options, Seq first);
  // `band_keys`: one for each band, for rows with slices.
  void add(const Row& row, const uint64_t* band_keys);
  uint64_t rows() const { return rows_; }
  // The views point into the builder.
  Row row(uint64_t ordinal) const { return layout_.read(&bytes_[ordinal * layout_.stride()]); }
  // The distinct prints of a row that was added. Call it by ascending ordinal, if the index lists prints.
  void add_prints(uint64_t ordinal, std::span<const uint64_t> prints);
  absl::Status write(uint32_t columns, SegmentSink& sink);

 private:
  void enter(size_t kind, uint64_t value);

  const CandidateIndexOptions options_;
  const RowLayout layout_;
  const SegmentKinds kinds_;
  const Seq first_;
  uint64_t rows_ = 0;
  PodVector<uint8_t> bytes_;            // of the rows
  PodVector<uint64_t> keys_;            // key above, ordinal in the lowest 24 bits
  PodVector<uint64_t> prints_;          // print above, ordinal in the lowest 20 bits
  std::vector<uint32_t> print_counts_;  // by ordinal
};

// Merges segments with consecutive numbers. Goes through the files from front to back, with about a megabyte
// for each in memory.
absl::Status merge_segments(const CandidateIndexOptions& options, std::span<const Segment* const> parts,
                            uint32_t columns, SegmentSink& sink);

}  // namespace doppel
