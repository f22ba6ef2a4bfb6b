#pragma once
// The keys of an open segment, or its prints: the filter and the directory are in memory, the pages in the
// file.
//
// Any number of threads may use it at once.

#include "base/pod_vector.h"
#include "index/pages.h"
#include "index/segment_filter.h"
#include "index/segment_format.h"
#include "index/segment_io.h"

namespace doppel {

// The pages [first, last] of a kind.
struct PageRange {
  uint64_t first = 1, last = 0;  // none
};

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

}  // namespace doppel
