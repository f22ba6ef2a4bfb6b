// With the instruction that counts bits.

#include "index/segment_filter.h"

namespace doppel {

size_t filter_probe_avx2(const uint64_t* words, const FilterShape& shape, const uint64_t* keys,
                         const uint64_t* coefficients, size_t n, uint32_t* hits) {
  return filter_probe_inline(words, shape, keys, coefficients, n, hits);
}

}  // namespace doppel
