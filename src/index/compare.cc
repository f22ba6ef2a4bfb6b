#include "index/compare.h"

#include <bit>

namespace doppel {

int equal_bits_scalar(const uint8_t* a, const uint8_t* b, int k, uint64_t* bits) {
  int equal = 0;
  for (int base = 0; base < k; base += 64) {
    uint64_t word = 0;
    for (int i = 0; i < 64 && base + i < k; ++i) {
      word |= static_cast<uint64_t>(a[base + i] == b[base + i]) << i;
    }
    bits[base / 64] = word;
    equal += std::popcount(word);
  }
  return equal;
}

EqualBits equal_bits_for(Simd level) {
#if defined(__x86_64__)
  if (level == Simd::avx512) return equal_bits_avx512;
  if (level == Simd::avx2) return equal_bits_avx2;
#elif defined(__aarch64__)
  if (level == Simd::neon) return equal_bits_neon;
#endif
  (void)level;
  return equal_bits_scalar;
}

}  // namespace doppel
