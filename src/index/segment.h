#pragma once
// An open segment: its filter and directory are in memory, its pages in the file.
//
// Any number of threads may use it at once.

#include <memory>

#include "absl/status/statusor.h"
#include "base/pod_vector.h"
#include "index/pages.h"
#include "index/row_layout.h"
#include "index/segment_filter.h"
#include "index/segment_format.h"
#include "index/segment_io.h"

namespace doppel {

class Segment {
 public:
  // Reads header, filter and directory. An error names what is damaged, or what it does not fit to.
  static absl::StatusOr<std::unique_ptr<Segment>> open(const CandidateIndexOptions& options,
                                                       std::unique_ptr<SegmentSource> source);

  const SegmentHeader& header() const { return header_; }
  const SegmentSource& source() const { return *source_; }
  Seq first() const { return header_.first; }
  Seq end() const { return header_.first + header_.rows; }
  uint64_t memory_bytes() const { return header_.filter.bytes() + 4 * directory_.size(); }

  // See FilterProbe.
  size_t probe(FilterProbe kernel, const uint64_t* keys, const uint64_t* coefficients, size_t n,
               uint32_t* hits) const {
    return kernel(words(), header_.filter, keys, coefficients, n, hits);
  }
  // False only if no row has this key, or at most one has it.
  bool may_have(uint64_t key) const { return has(key, false); }
  bool may_repeat(uint64_t key) const { return has(key, true); }

  // The key pages [first, last] that may have entries with this key; they are all others' neighbours.
  struct Range {
    uint64_t first = 1, last = 0;  // none
  };
  Range key_pages_of(uint64_t key) const;
  // Appends the ordinals of this key in a key page.
  void find(const uint8_t* page, uint64_t key, PodVector<uint32_t>& ordinals) const;

  uint64_t row_page_of(uint64_t ordinal) const { return header_.row_page_at(ordinal / rows_in_page_); }
  const uint8_t* row_in(const uint8_t* page, uint64_t ordinal) const {
    return page + RowPage::kHead + ordinal % rows_in_page_ * header_.stride;
  }

  // Reads one page at this offset and checks it.
  absl::Status read_page(uint64_t offset, uint8_t* out) const;

 private:
  Segment(const SegmentHeader& header, std::unique_ptr<SegmentSource> source);
  absl::Status load();
  const uint64_t* words() const { return reinterpret_cast<const uint64_t*>(filter_.data()); }
  bool has(uint64_t key, bool repeated) const;

  SegmentHeader header_;
  std::unique_ptr<SegmentSource> source_;
  uint64_t rows_in_page_;
  Pages filter_;
  PodVector<uint32_t> directory_;
};

}  // namespace doppel
