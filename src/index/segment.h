#pragma once
// An open segment: filters and directories are in memory, its pages in the file.
//
// Any number of threads may use it at once.

#include <memory>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "index/pages.h"
#include "index/row_store.h"
#include "index/segment_filter.h"
#include "index/segment_format.h"

namespace doppel {

// The pages [first, last] of a kind.
struct PageRange {
  uint64_t first = 1, last = 0;  // none
};

// The keys of an open segment, or its prints: the filter and the directory are in memory, the pages in the
// file.
class SegmentKeys {
 public:
  SegmentKeys(const KeyShape& shape, const KeyPart& part, int ordinal_bits)
      : shape_(shape), part_(part), ordinal_bits_(ordinal_bits) {}
  // Reads filter and directory. An error names what is damaged.
  absl::Status load(const SegmentSource& source);

  const KeyShape& shape() const { return shape_; }
  const KeyPart& part() const { return part_; }
  int ordinal_bits() const { return ordinal_bits_; }
  uint64_t memory_bytes() const { return part_.filter.bytes() + 4 * directory_.size(); }

  // See FilterProbe. `keys` are those of filters.
  size_t probe(FilterProbe kernel, const uint64_t* keys, const uint64_t* coefficients, size_t n,
               uint32_t* hits) const {
    return kernel(words(), part_.filter, keys, coefficients, n, hits);
  }
  // False only if no row has this key, or at most one has it.
  bool may_have(uint64_t key) const { return has(key, false); }
  bool may_repeat(uint64_t key) const { return has(key, true); }

  // The pages that may have entries with this key.
  PageRange pages_of(uint64_t key) const;
  // Appends the ordinals of this key in a page.
  void find(const uint8_t* page, uint64_t key, PodVector<uint32_t>& ordinals) const;

 private:
  const uint64_t* words() const { return reinterpret_cast<const uint64_t*>(filter_.data()); }
  bool has(uint64_t key, bool repeated) const;

  KeyShape shape_;
  KeyPart part_;
  int ordinal_bits_;
  Pages filter_;
  PodVector<uint32_t> directory_;
};

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

// A page, and what wants it.
struct PageWant {
  const Segment* segment;
  uint64_t offset;
  uint32_t who;  // these mean what the caller likes
  uint32_t part;
  uint64_t page;
};

// Reads each wanted page once, in the order of the files, and passes it to all that want it. Adds the number
// of pages to `count`, and empties `wants`.
absl::Status read_wanted(const PageReader& reader, std::vector<PageWant>& wants, uint64_t& count,
                         absl::FunctionRef<void(const PageWant& want, const uint8_t* bytes)> use);

}  // namespace doppel
