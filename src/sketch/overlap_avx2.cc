// Compares all values of a block of eight of `a` with all of a block of `b`, then advances the array whose
// block has the smaller last value. No branch depends on a value. Matches accumulate for b's block until it
// is advanced; of values of b that are equal after the shift, only the first counts.
//
// Sixteen lanes of AVX-512 were not faster: the dependency from a block's last value to the next block
// dominates.

#include <immintrin.h>

#include "sketch/overlap.h"

namespace doppel {
namespace {

constexpr size_t kBlock = 8;

inline __m256i load_shifted(const uint32_t* b, int shift) {
  return _mm256_srl_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(b)), _mm_cvtsi32_si128(shift));
}
inline unsigned bits_of(__m256i lanes) {
  return static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(lanes)));
}
inline unsigned equal(__m256i x, __m256i y) { return bits_of(_mm256_cmpeq_epi32(x, y)); }

// Returns the lanes of x whose value is in a[0..8).
inline unsigned matches(__m256i x, const uint32_t* a) {
  __m256i any = _mm256_setzero_si256();
  for (size_t i = 0; i < kBlock; ++i) {
    any = _mm256_or_si256(any, _mm256_cmpeq_epi32(x, _mm256_set1_epi32(static_cast<int>(a[i]))));
  }
  return bits_of(any);
}

}  // namespace

Marked mark_common_avx2(std::span<const uint32_t> values, int shift, std::span<const uint32_t> other,
                        int other_shift, uint32_t* marks) {
  size_t i = 0, j = 0;
  __m256i found = _mm256_setzero_si256();
  while (i + kBlock <= values.size() && j + kBlock <= other.size()) {
    const __m256i own = load_shifted(&values[i], shift);
    const __m256i theirs = load_shifted(&other[j], other_shift);
    __m256i turned = theirs;
    const __m256i turn = _mm256_setr_epi32(1, 2, 3, 4, 5, 6, 7, 0);
    for (size_t t = 0; t < kBlock; ++t) {
      found = _mm256_or_si256(found, _mm256_cmpeq_epi32(own, turned));
      turned = _mm256_permutevar8x32_epi32(turned, turn);
    }
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(marks + i), found);
    // If both blocks end with the same value, the next block of `values` may begin with it.
    const bool next = values[i + kBlock - 1] >> shift <= other[j + kBlock - 1] >> other_shift;
    found = _mm256_and_si256(found, _mm256_set1_epi32(next ? 0 : -1));
    i += next ? kBlock : 0;
    j += next ? 0 : kBlock;
  }
  return {i, j};
}

size_t common_values_avx2(const uint32_t* a, size_t na, const uint32_t* b, size_t nb, int shift) {
  // The values after the whole blocks, padded with the last value. In `a` padding changes nothing. In `b`
  // padding is a repeat, which does not count; to see repeats, b's block also needs the value before it.
  size_t left_a = na % kBlock;
  size_t left_b = nb % kBlock;
  uint32_t rest_a[kBlock];
  uint32_t rest_b[1 + kBlock];
  rest_b[0] = nb > left_b ? b[nb - left_b - 1] : 0;
  for (size_t i = 0; i < kBlock; ++i) {
    rest_a[i] = i < left_a ? a[na - left_a + i] : a[na - 1];
    rest_b[1 + i] = i < left_b ? b[nb - left_b + i] : b[nb - 1];
  }
  const uint32_t* end_a = a + (na - left_a);
  const uint32_t* end_b = b + (nb - left_b);
  bool is_start = true;  // b's first block has no value before it
  size_t common = 0;
  unsigned found = 0;
  auto count_found = [&](__m256i values) {
    const __m256i previous_lanes =
        _mm256_permutevar8x32_epi32(values, _mm256_setr_epi32(0, 0, 1, 2, 3, 4, 5, 6));
    const unsigned repeats =
        is_start ? equal(values, previous_lanes) & ~1u : equal(values, load_shifted(b - 1, shift));
    return static_cast<size_t>(__builtin_popcount(found & ~repeats));
  };
  for (;;) {
    while (a != end_a && b != end_b) {
      const __m256i values = load_shifted(b, shift);
      found |= matches(values, a);
      const uint32_t last_a = a[kBlock - 1];
      const uint32_t last_b = b[kBlock - 1] >> shift;
      const bool next_b = last_b <= last_a;
      common += next_b ? count_found(values) : 0;
      found = next_b ? 0 : found;
      is_start = is_start && !next_b;
      a += last_a <= last_b ? kBlock : 0;
      b += next_b ? kBlock : 0;
    }
    if (a == end_a) {
      if (left_a == 0) break;
      left_a = 0;
      a = rest_a;
      end_a = rest_a + kBlock;
    }
    if (b == end_b) {
      if (left_b == 0) break;
      left_b = 0;
      b = rest_b + 1;
      end_b = rest_b + 1 + kBlock;
    }
  }
  return found == 0 ? common : common + count_found(load_shifted(b, shift));
}

size_t distinct_shifted_avx2(const uint32_t* b, size_t nb, int shift) {
  size_t repeats = 0;
  size_t j = 1;
  for (; j + kBlock <= nb; j += kBlock) {
    const unsigned same = equal(load_shifted(b + j, shift), load_shifted(b + j - 1, shift));
    repeats += static_cast<size_t>(__builtin_popcount(same));
  }
  for (; j < nb; ++j) repeats += b[j] >> shift == b[j - 1] >> shift;
  return nb - repeats;
}

}  // namespace doppel
