// The kernels of index/ with AVX2.

#include <immintrin.h>

#include <cstdint>

#include "index/segment_filter.h"

namespace doppel {

int equal_bits_avx2(const uint8_t* a, const uint8_t* b, int k, uint64_t* bits);

int equal_bits_avx2(const uint8_t* a, const uint8_t* b, int k, uint64_t* bits) {
  int64_t equal = 0;
  for (int base = 0; base < k; base += 64) {
    uint64_t word = 0;
    const int end = k - base < 64 ? k - base : 64;
    int i = 0;
    for (; i + 32 <= end; i += 32) {
      const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(a + base + i));
      const __m256i y = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b + base + i));
      word |= static_cast<uint64_t>(static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(x, y))))
              << i;
    }
    for (; i < end; ++i) word |= static_cast<uint64_t>(a[base + i] == b[base + i]) << i;
    bits[base / 64] = word;
    equal += _mm_popcnt_u64(word);
  }
  return static_cast<int>(equal);
}

size_t filter_probe_avx2(const uint64_t* words, const FilterShape& shape, const uint64_t* keys,
                         const uint64_t* coefficients, size_t n, uint32_t* hits) {
  return filter_probe_inline(words, shape, keys, coefficients, n, hits);
}

}  // namespace doppel
