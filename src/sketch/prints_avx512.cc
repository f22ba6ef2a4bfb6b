// g++ 12 warns about uninitialised values inside its own intrinsics.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include <immintrin.h>

#include "sketch/prints_kernels.h"

namespace doppel {
namespace {

__mmask8 first_lanes(size_t n) { return static_cast<__mmask8>(n >= 8 ? 0xff : (1u << n) - 1); }

void smaller(const uint64_t* a, const uint64_t* b, size_t n, uint64_t* out) {
  size_t i = 0;
  for (; i + 8 <= n; i += 8)
    _mm512_storeu_si512(out + i, _mm512_min_epu64(_mm512_loadu_si512(a + i), _mm512_loadu_si512(b + i)));
  if (i == n) return;
  const __mmask8 lanes = first_lanes(n - i);
  _mm512_mask_storeu_epi64(
      out + i, lanes,
      _mm512_min_epu64(_mm512_maskz_loadu_epi64(lanes, a + i), _mm512_maskz_loadu_epi64(lanes, b + i)));
}

// Keeps blocks in registers: the minimum of 2, 4 and 8 values from each position of a block needs the next
// block's.
void sixteen(const uint64_t* values, size_t n, uint64_t* out) {
  if (n < 16) return;
  const size_t count = n - 15;
  size_t at = 0;
  const auto next = [&] {
    const __mmask8 lanes = at < n ? first_lanes(n - at) : static_cast<__mmask8>(0);
    const __m512i all = _mm512_set1_epi64(-1);
    const __m512i block = _mm512_mask_loadu_epi64(all, lanes, values + (at < n ? at : 0));
    at += 8;
    return block;
  };
  __m512i one = next();
  __m512i ahead = next();
  __m512i two = _mm512_min_epu64(one, _mm512_alignr_epi64(ahead, one, 1));
  one = ahead;
  ahead = next();
  __m512i two_ahead = _mm512_min_epu64(one, _mm512_alignr_epi64(ahead, one, 1));
  one = ahead;
  __m512i four = _mm512_min_epu64(two, _mm512_alignr_epi64(two_ahead, two, 2));
  two = two_ahead;
  const auto eight = [&] {  // for the next block
    ahead = next();
    two_ahead = _mm512_min_epu64(one, _mm512_alignr_epi64(ahead, one, 1));
    one = ahead;
    const __m512i four_ahead = _mm512_min_epu64(two, _mm512_alignr_epi64(two_ahead, two, 2));
    two = two_ahead;
    const __m512i found = _mm512_min_epu64(four, _mm512_alignr_epi64(four_ahead, four, 4));
    four = four_ahead;
    return found;
  };
  __m512i now = eight();
  for (size_t i = 0; i < count; i += 8) {
    const __m512i later = eight();
    _mm512_mask_storeu_epi64(out + i, first_lanes(count - i), _mm512_min_epu64(now, later));
    now = later;
  }
}

size_t changes(const uint64_t* values, size_t n, uint32_t* out) {
  if (n == 0) return 0;
  size_t count = 0;
  out[count++] = 0;
  const __m256i places = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  for (size_t i = 1; i < n; i += 8) {
    const __mmask8 lanes = first_lanes(n - i);
    const __mmask8 differ = _mm512_mask_cmpneq_epu64_mask(lanes, _mm512_maskz_loadu_epi64(lanes, values + i),
                                                          _mm512_maskz_loadu_epi64(lanes, values + i - 1));
    // Compresses into a register first: compressing into memory is slow on some processors.
    const __m256i found =
        _mm256_maskz_compress_epi32(differ, _mm256_add_epi32(places, _mm256_set1_epi32(static_cast<int>(i))));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + count), found);
    count += static_cast<size_t>(_mm_popcnt_u32(differ));
  }
  return count;
}

size_t last_of(const uint64_t* values, size_t n, uint64_t value) {
  const __m512i wanted = _mm512_set1_epi64(static_cast<long long>(value));
  if (n <= 32) {  // no branch depends on the place of the value, which is unpredictable
    const uint32_t lanes = static_cast<uint32_t>((uint64_t{1} << n) - 1);
    uint32_t at = 0;
    for (int block = 0; block < 32; block += 8) {
      const auto some = static_cast<__mmask8>(lanes >> block);
      const __m512i these = _mm512_maskz_loadu_epi64(some, values + block);
      at |= static_cast<uint32_t>(_mm512_mask_cmpeq_epu64_mask(some, these, wanted)) << block;
    }
    return at == 0 ? n : 31 - _lzcnt_u32(at);
  }
  size_t end = n;
  while (end > 0) {
    const size_t begin = end > 8 ? end - 8 : 0;
    const __mmask8 lanes = first_lanes(end - begin);
    const __mmask8 at =
        _mm512_mask_cmpeq_epu64_mask(lanes, _mm512_maskz_loadu_epi64(lanes, values + begin), wanted);
    if (at != 0) return begin + (31 - _lzcnt_u32(at));
    end = begin;
  }
  return n;
}

}  // namespace

extern const PrintKernels kPrintKernelsAvx512{smaller, sixteen, changes, last_of};

}  // namespace doppel
