#include <immintrin.h>

#include "sketch/radix_sort.h"

namespace doppel {
namespace {

inline __m256i load256(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
inline void store256(void* p, __m256i v) { _mm256_storeu_si256(static_cast<__m256i*>(p), v); }

// counts[i] = the sum of all counts before it; `size` is a multiple of 16.
inline void running_starts(uint16_t* counts, size_t size) {
  __m256i carry = _mm256_setzero_si256();  // the total so far, in every lane
  const __m256i last_word = _mm256_set1_epi16(0x0f0e);
  for (size_t i = 0; i < size; i += 16) {
    __m256i x = load256(counts + i);
    __m256i sums = _mm256_add_epi16(x, _mm256_slli_si256(x, 2));
    sums = _mm256_add_epi16(sums, _mm256_slli_si256(sums, 4));
    sums = _mm256_add_epi16(sums, _mm256_slli_si256(sums, 8));
    // Each half has its own running sums; the upper half still lacks the lower half's total.
    __m256i totals = _mm256_shuffle_epi8(sums, last_word);
    __m256i lower_total = _mm256_permute2x128_si256(totals, totals, 0x08);
    store256(counts + i, _mm256_add_epi16(_mm256_sub_epi16(sums, x), _mm256_add_epi16(carry, lower_total)));
    __m256i both = _mm256_add_epi16(totals, _mm256_permute2x128_si256(totals, totals, 0x01));
    carry = _mm256_add_epi16(carry, both);
  }
}

// Orders every second pair of neighbours, starting at v[0] or v[1]. Returns whether any pair was out of
// order.
inline bool sweep(uint32_t* v, size_t n) {
  __m256i changed = _mm256_setzero_si256();
  for (size_t i = 0; i < n; i += 8) {
    __m256i x = load256(v + i);
    __m256i swapped = _mm256_shuffle_epi32(x, 0xb1);
    __m256i ordered = _mm256_blend_epi32(_mm256_min_epu32(x, swapped), _mm256_max_epu32(x, swapped), 0xaa);
    changed = _mm256_or_si256(changed, _mm256_xor_si256(x, ordered));
    store256(v + i, ordered);
  }
  return _mm256_testz_si256(changed, changed) == 0;
}

}  // namespace

bool bucket_sort_avx2(const uint32_t* values, size_t n, uint32_t* sorted) {
  return bucket_sort_by(values, n, sorted, running_starts, sweep);
}

size_t count_distinct_avx2(const uint32_t* sorted, size_t n) {
  size_t repeats = 0;
  size_t i = 1;
  for (; i + 8 <= n; i += 8) {
    __m256i same = _mm256_cmpeq_epi32(load256(sorted + i), load256(sorted + i - 1));
    repeats += static_cast<size_t>(__builtin_popcount(_mm256_movemask_ps(_mm256_castsi256_ps(same))));
  }
  for (; i < n; ++i) repeats += sorted[i] == sorted[i - 1];
  return n - repeats;
}

size_t shift_distinct_avx2(uint32_t* values, size_t n, int shift) {
  const __m128i count = _mm_cvtsi32_si128(shift);
  size_t kept = 0;
  size_t i = 0;
  // Keeps the last one of equal values. Writing never overtakes reading: kept <= i.
  for (; i + 9 <= n; i += 8) {
    __m256i v = _mm256_srl_epi32(load256(values + i), count);
    __m256i next = _mm256_srl_epi32(load256(values + i + 1), count);
    auto repeats =
        static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(v, next))));
    if (repeats == 0) {
      store256(values + kept, v);
      kept += 8;
    } else {
      alignas(32) uint32_t lanes[8];
      _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), v);
      for (int j = 0; j < 8; ++j) {
        values[kept] = lanes[j];
        kept += 1 - (repeats >> j & 1);
      }
    }
  }
  for (; i < n; ++i) {
    const uint32_t value = values[i] >> shift;
    values[kept] = value;
    kept += i + 1 == n || values[i + 1] >> shift != value;
  }
  return kept;
}

}  // namespace doppel
