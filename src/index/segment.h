#pragma once
// An open segment: filters and directories are in memory, its pages in the file.
//
// Any number of threads may use it at once.

#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "base/pod_vector.h"
#include "index/row_layout.h"
#include "index/segment_format.h"
#include "index/segment_io.h"
#include "index/segment_keys.h"

namespace doppel {

class Segment {
 public:
  // Reads header, filters and directories. An error names what is damaged, or what it does not fit to.
  static absl::StatusOr<std::unique_ptr<Segment>> open(const CandidateIndexOptions& options,
                                                       std::unique_ptr<SegmentSource> source);

  const SegmentHeader& header() const { return header_; }
  const SegmentSource& source() const { return *source_; }
  Seq first() const { return header_.first; }
  Seq end() const { return header_.first + header_.rows; }
  uint64_t memory_bytes() const;

  const SegmentKeys& keys() const { return keys_; }
  // If the index lists prints.
  const SegmentKeys& prints() const { return *prints_; }
  // How many prints a row lists; at most 127.
  uint32_t prints_of(uint64_t ordinal) const { return print_counts_[ordinal]; }

  // The pages that have this row: one or two, or more if rows are large.
  PageRange row_pages_of(uint64_t ordinal) const {
    const uint64_t at = ordinal * header_.stride;
    return {at / RowPage::kBytes, (at + header_.stride - 1) / RowPage::kBytes};
  }
  // Copies what this page has of a row to its place in `out`.
  void copy_row(const uint8_t* bytes, uint64_t page, uint64_t ordinal, uint8_t* out) const;

  // Reads one page at this offset and checks it.
  absl::Status read_page(uint64_t offset, uint8_t* out) const;

 private:
  Segment(const SegmentHeader& header, std::unique_ptr<SegmentSource> source);
  absl::Status load();

  SegmentHeader header_;
  std::unique_ptr<SegmentSource> source_;
  SegmentKeys keys_;
  std::optional<SegmentKeys> prints_;
  PodVector<uint8_t> print_counts_;
};

}  // namespace doppel
