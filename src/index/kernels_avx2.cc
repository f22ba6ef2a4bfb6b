// The kernels of index/ with AVX2.

#include <immintrin.h>

#include <cstdint>

#include "index/print_lines.h"
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

namespace {

__m256i all64(uint64_t value) { return _mm256_set1_epi64x(static_cast<long long>(value)); }

uint32_t signs(__m256i low, __m256i high) {
  const int a = _mm256_movemask_pd(_mm256_castsi256_pd(low));
  const int b = _mm256_movemask_pd(_mm256_castsi256_pd(high));
  return static_cast<uint32_t>(a | b << 4);
}

// The eight entries of a line, or one number of each.
struct Eight {
  __m256i low, high;
  uint32_t equal(uint64_t value) const {
    return signs(_mm256_cmpeq_epi64(low, all64(value)), _mm256_cmpeq_epi64(high, all64(value)));
  }
  uint32_t less(uint64_t value) const {  // as signed numbers
    return signs(_mm256_cmpgt_epi64(all64(value), low), _mm256_cmpgt_epi64(all64(value), high));
  }
};

struct Slots {
  explicit Slots(const PrintLine& line)
      : entries{_mm256_loadu_si256(reinterpret_cast<const __m256i*>(line)),
                _mm256_loadu_si256(reinterpret_cast<const __m256i*>(line + 4))},
        without{_mm256_srli_epi64(entries.low, kPrintOrdinalBits),
                _mm256_srli_epi64(entries.high, kPrintOrdinalBits)},
        displacements{_mm256_and_si256(without.low, all64(kPrintBehindMost)),
                      _mm256_and_si256(without.high, all64(kPrintBehindMost))} {}
  uint32_t equal(uint64_t value) const { return without.equal(value); }
  uint32_t behind(uint64_t lines) const { return displacements.equal(lines); }
  uint32_t nearer(uint64_t lines) const { return displacements.less(lines); }
  uint32_t free() const { return entries.equal(0); }
  uint32_t expired(uint64_t low, uint64_t live) const {
    const auto dead = [&](__m256i half) {
      const __m256i ordinals = all64(kPrintOrdinalMask);
      const __m256i age = _mm256_sub_epi64(_mm256_and_si256(half, ordinals), all64(low));
      return _mm256_cmpgt_epi64(_mm256_and_si256(age, ordinals), all64(live - 1));
    };
    return signs(dead(entries.low), dead(entries.high));
  }
  void copy(uint64_t base, uint64_t in_top, uint64_t unit_next, uint64_t* to, uint32_t* homes) const {
    const auto half = [&](__m256i four, __m256i displacement, int at) {
      const __m256i kept = _mm256_and_si256(four, all64(~(kPrintBehindMost << kPrintOrdinalBits)));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + at), kept);
      const __m256i share =
          _mm256_srli_epi64(_mm256_mul_epu32(_mm256_srli_epi64(four, 32), all64(unit_next)), 32);
      // Where the home has the highest bits before, the mask is -1.
      const __m256i before = _mm256_cmpgt_epi64(displacement, all64(in_top));
      const __m256i sum =
          _mm256_sub_epi64(_mm256_add_epi64(all64(base), share), _mm256_and_si256(before, all64(unit_next)));
      const __m256i lower = _mm256_permutevar8x32_epi32(sum, _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(homes + at), _mm256_castsi256_si128(lower));
    };
    half(entries.low, displacements.low, 0);
    half(entries.high, displacements.high, 4);
  }

  Eight entries, without, displacements;
};

}  // namespace

extern const PrintLineKernels kPrintLineKernelsAvx2{find_in_lines<Slots>, put_in_lines<Slots>,
                                                    take_from_lines<Slots>};

}  // namespace doppel
