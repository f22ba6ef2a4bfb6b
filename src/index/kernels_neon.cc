#include <bit>

#include "base/neon.h"
#include "index/compare.h"

namespace doppel {

int equal_bits_neon(const uint8_t* a, const uint8_t* b, int k, uint64_t* bits) {
  int equal = 0;
  for (int base = 0; base < k; base += 64, a += 64, b += 64) {
    const int end = k - base < 64 ? k - base : 64;
    uint64_t word = 0;
    if (end == 64) {
      const auto same = [&](int i) { return vceqq_u8(vld1q_u8(a + i), vld1q_u8(b + i)); };
      word = bits_of(same(0), same(16), same(32), same(48));
    } else {
      int i = 0;
      for (; i + 8 <= end; i += 8)
        word |= static_cast<uint64_t>(bits_of(vceq_u8(vld1_u8(a + i), vld1_u8(b + i)))) << i;
      for (; i < end; ++i) word |= static_cast<uint64_t>(a[i] == b[i]) << i;
    }
    bits[base / 64] = word;
    equal += std::popcount(word);
  }
  return equal;
}

}  // namespace doppel
