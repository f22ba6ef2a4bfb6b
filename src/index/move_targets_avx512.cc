// g++ 12 says that its own intrinsics use something uninitialised.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include <immintrin.h>

#include "index/move_targets.h"

namespace doppel {

void move_targets_avx512(const Bucket* group, const MoveRule& rule, uint8_t* to) {
  constexpr __mmask16 kAll = (1 << kSlots) - 1;
  const auto all32 = [](uint32_t value) { return _mm512_set1_epi32(static_cast<int>(value)); };
  const __m512i one = all32(1);
  const __m512i first =
      _mm512_castsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(rule.first)));
  const __m512i first_stored =
      _mm512_castsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(rule.first_stored)));
  const __m512i code_shift = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 0, 0, 0, 0, 0, 0);
  const __m512i start = _mm512_set1_epi64(static_cast<long long>(rule.start));
  const __m512i buckets = _mm512_set1_epi64(static_cast<long long>(rule.buckets));
  const __m128i bits = _mm_cvtsi32_si128(rule.bits);
  const auto new_home = [&](__m256i top) {
    const __m512i product = _mm512_mul_epu32(_mm512_cvtepu32_epi64(top), buckets);
    return _mm512_cvtepi64_epi32(_mm512_srl_epi64(_mm512_add_epi64(product, start), bits));
  };
  for (uint32_t b = 0; b < kGroup; ++b, to += kSlots) {
    const Bucket& bucket = group[b];
    const __m512i entry = _mm512_maskz_loadu_epi32(kAll, bucket.entry);
    const __m512i hash = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(kAll, bucket.hash));
    const __m512i code = _mm512_and_si512(_mm512_srlv_epi32(all32(bucket.header), code_shift), all32(3));
    const __m512i lowest = _mm512_and_si512(_mm512_srli_epi32(entry, kOrdinalBits), one);
    const __m512i distance = _mm512_add_epi32(_mm512_slli_epi32(_mm512_sub_epi32(code, one), 1), lowest);
    const __m512i home = _mm512_and_si512(_mm512_xor_si512(distance, all32(b)), all32(kGroup - 1));
    const __m512i high = _mm512_slli_epi32(_mm512_srli_epi32(entry, kOrdinalBits + 1), 16);
    const __m512i stored = _mm512_or_si512(high, hash);
    const __m512i from = _mm512_permutexvar_epi32(home, first);
    const __m512i from_stored = _mm512_permutexvar_epi32(home, first_stored);
    const __m512i top =
        _mm512_add_epi32(from, _mm512_and_si512(_mm512_sub_epi32(stored, from_stored), all32(kStoredMask)));
    const __m512i age =
        _mm512_and_si512(_mm512_sub_epi32(entry, all32(rule.window.low)), all32(kOrdinalMask));
    const __mmask16 used = _mm512_mask_test_epi32_mask(kAll, code, code);
    const __mmask16 moves = _mm512_mask_cmplt_epu32_mask(used, age, all32(rule.window.size));
    const __m512i homes = _mm512_inserti64x4(_mm512_castsi256_si512(new_home(_mm512_castsi512_si256(top))),
                                             new_home(_mm512_extracti64x4_epi64(top, 1)), 1);
    const __m512i target = _mm512_mask_mov_epi32(all32(kNowhere), moves, homes);
    _mm_mask_storeu_epi8(to, kAll, _mm512_cvtepi32_epi8(target));
  }
}

}  // namespace doppel
