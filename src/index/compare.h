#pragma once
// Compares a candidate row with a query: which slices are equal, how many, and which bands match.

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/simd.h"

namespace doppel {

// For i < k, sets bit i%64 of bits[i/64] to (a[i] == b[i]). Clears the other bits of the (k + 63) / 64 words.
// Returns the number of ones.
using EqualBits = int (*)(const uint8_t* a, const uint8_t* b, int k, uint64_t* bits);
int equal_bits_scalar(const uint8_t* a, const uint8_t* b, int k, uint64_t* bits);
int equal_bits_neon(const uint8_t* a, const uint8_t* b, int k, uint64_t* bits);
int equal_bits_avx2(const uint8_t* a, const uint8_t* b, int k, uint64_t* bits);
int equal_bits_avx512(const uint8_t* a, const uint8_t* b, int k, uint64_t* bits);
EqualBits equal_bits_for(Simd level);

// Returns true if bits [from, from + count) are all 1. May read one word beyond the last bit.
inline bool all_ones(const uint64_t* bits, int from, int count) {
  while (count > 0) {
    const int shift = from & 7;
    const int take = count < 57 ? count : 57;
    const uint64_t mask = (uint64_t{1} << take) - 1;
    const uint64_t word = load<uint64_t>(reinterpret_cast<const uint8_t*>(bits) + (from >> 3)) >> shift;
    if ((word & mask) != mask) return false;
    from += take;
    count -= take;
  }
  return true;
}

}  // namespace doppel
