// The same as radix_sort_avx2.cc, with four values at a time.

#include <arm_neon.h>

#include "sketch/radix_sort.h"

namespace doppel {
namespace {

// counts[i] = the sum of all counts before it; `size` is a multiple of 8.
inline void running_starts(uint16_t* counts, size_t size) {
  const uint16x8_t none = vdupq_n_u16(0);
  uint16x8_t carry = none;  // the total so far, in every lane
  for (size_t i = 0; i < size; i += 8) {
    const uint16x8_t x = vld1q_u16(counts + i);
    uint16x8_t sums = vaddq_u16(x, vextq_u16(none, x, 7));
    sums = vaddq_u16(sums, vextq_u16(none, sums, 6));
    sums = vaddq_u16(sums, vextq_u16(none, sums, 4));
    vst1q_u16(counts + i, vaddq_u16(vsubq_u16(sums, x), carry));
    carry = vaddq_u16(carry, vdupq_laneq_u16(sums, 7));
  }
}

// Orders every second pair of neighbours, starting at v[0] or v[1]. Returns whether any pair was out of
// order.
inline bool sweep(uint32_t* v, size_t n) {
  const uint32x4_t second = {0, ~0u, 0, ~0u};
  uint32x4_t changed = vdupq_n_u32(0);
  for (size_t i = 0; i < n; i += 4) {
    const uint32x4_t x = vld1q_u32(v + i);
    const uint32x4_t swapped = vrev64q_u32(x);
    const uint32x4_t ordered = vbslq_u32(second, vmaxq_u32(x, swapped), vminq_u32(x, swapped));
    changed = vorrq_u32(changed, veorq_u32(x, ordered));
    vst1q_u32(v + i, ordered);
  }
  return vmaxvq_u32(changed) != 0;
}

}  // namespace

bool bucket_sort_neon(const uint32_t* values, size_t n, uint32_t* sorted) {
  return bucket_sort_by(values, n, sorted, running_starts, sweep);
}

size_t count_distinct_neon(const uint32_t* sorted, size_t n) {
  uint32x4_t repeats = vdupq_n_u32(0);
  size_t i = 1;
  for (; i + 4 <= n; i += 4)  // an equal lane is -1
    repeats = vsubq_u32(repeats, vceqq_u32(vld1q_u32(sorted + i), vld1q_u32(sorted + i - 1)));
  size_t distinct = n - vaddvq_u32(repeats);
  for (; i < n; ++i) distinct -= sorted[i] == sorted[i - 1];
  return distinct;
}

}  // namespace doppel
