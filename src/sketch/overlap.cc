// The overlap of two compact sets. The scalar form merges two sorted arrays without branches on their values.

#include "sketch/overlap.h"

#include <algorithm>

#include "base/check.h"
#include "base/simd.h"
#include "sketch/compact_set.h"

namespace doppel {
namespace {

// Smaller sets do not fill a block.
constexpr size_t kFew = 8;

size_t common_values(const uint32_t* a, size_t na, const uint32_t* b, size_t nb, int shift) {
#if defined(__x86_64__)
  if (na >= kFew && nb >= kFew && simd_level() >= Simd::avx2) return common_values_avx2(a, na, b, nb, shift);
#endif
  return common_values_scalar(a, na, b, nb, shift);
}

size_t distinct_shifted(const uint32_t* b, size_t nb, int shift) {
  if (shift == 0) return nb;
#if defined(__x86_64__)
  if (simd_level() >= Simd::avx2) return distinct_shifted_avx2(b, nb, shift);
#endif
  size_t distinct = 1;
  for (size_t j = 1; j < nb; ++j) distinct += b[j] >> shift != b[j - 1] >> shift;
  return distinct;
}

}  // namespace

size_t common_values_scalar(const uint32_t* a, size_t na, const uint32_t* b, size_t nb, int shift) {
  size_t common = 0;
  size_t i = 0;
  size_t j = 0;
  while (i < na && j < nb) {
    uint32_t left = a[i];
    uint32_t right = b[j] >> shift;
    common += left == right;
    i += left <= right;
    j += right <= left;
  }
  return common;
}

void mark_common(std::span<const uint32_t> values, int shift, std::span<const uint32_t> other,
                 int other_shift, uint32_t* marks) {
  std::fill_n(marks, values.size(), 0);
  Marked at{0, 0};
#if defined(__x86_64__)
  if (simd_level() >= Simd::avx2) at = mark_common_avx2(values, shift, other, other_shift, marks);
#endif
  size_t i = at.values, j = at.other;
  while (i < values.size() && j < other.size()) {
    const uint32_t left = values[i] >> shift, right = other[j] >> other_shift;
    marks[i] |= left == right ? 1u : 0u;
    i += left <= right;
    j += right < left;
  }
}

Overlap overlap(const CompactSet& a, const CompactSet& b) {
  if (a.values.empty() || b.values.empty()) return {0, a.values.size() + b.values.size()};
  if (a.bits > b.bits) return overlap(b, a);
  const int shift = b.bits - a.bits;
  uint64_t inter = common_values(a.values.data(), a.values.size(), b.values.data(), b.values.size(), shift);
  uint64_t sizes = a.values.size() + distinct_shifted(b.values.data(), b.values.size(), shift);
  DOPPEL_CHECK(inter <= sizes - inter, "two sets share no more than they have together", inter, sizes,
               a.values.size(), b.values.size());
  return {inter, sizes - inter};
}

}  // namespace doppel
