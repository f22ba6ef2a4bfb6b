#include <immintrin.h>

#include <cstdint>

namespace doppel {

int equal_bits_avx512(const uint8_t* a, const uint8_t* b, int k, uint64_t* bits);

int equal_bits_avx512(const uint8_t* a, const uint8_t* b, int k, uint64_t* bits) {
  int64_t equal = 0;
  for (int base = 0; base < k; base += 64) {
    const __mmask64 lanes =
        k - base < 64 ? _bzhi_u64(~uint64_t{0}, static_cast<unsigned>(k - base)) : ~uint64_t{0};
    const __m512i x = _mm512_maskz_loadu_epi8(lanes, a + base);
    const __m512i y = _mm512_maskz_loadu_epi8(lanes, b + base);
    const uint64_t word = _mm512_mask_cmpeq_epi8_mask(lanes, x, y);
    bits[base / 64] = word;
    equal += _mm_popcnt_u64(word);
  }
  return static_cast<int>(equal);
}

}  // namespace doppel
