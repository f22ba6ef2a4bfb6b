#pragma once
// Shared by the vector kernels. Their files are compiled for newer processors, so this header may not define
// functions with external linkage, which the linker could choose for all processors: constants and static
// functions only.

#include "text/kernels.h"

namespace doppel {

extern const TextKernels kTextAvx2;
extern const TextKernels kTextAvx512;
extern const TextKernels kTextNeon;

namespace {

// Row n keeps the first n of 16 bytes.
struct PrefixMasks {
  uint64_t low[17];
  uint64_t high[17];
};
constexpr PrefixMasks make_prefix_masks() {
  PrefixMasks masks{};
  for (int n = 0; n <= 16; ++n) {
    masks.low[n] = n >= 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * n)) - 1;
    masks.high[n] = n >= 16 ? ~uint64_t{0} : n <= 8 ? 0 : (uint64_t{1} << (8 * (n - 8))) - 1;
  }
  return masks;
}
constexpr PrefixMasks kPrefixMasks = make_prefix_masks();

[[maybe_unused]] __attribute__((always_inline)) inline uint64_t load_u64(const uint8_t* p) {
  uint64_t x;
  __builtin_memcpy(&x, p, sizeof x);
  return x;
}

// The same as fold_multiply(). g++ 12 moves the product through memory if it is written in C++.
[[maybe_unused]] __attribute__((always_inline)) inline uint64_t folded(uint64_t a, uint64_t b) {
#if !defined(__x86_64__)
  return fold_multiply(a, b);
#else
  uint64_t low;
  uint64_t high;
  __asm__("mulx %3, %0, %1" : "=r"(low), "=r"(high) : "d"(a), "r"(b));
  return low ^ high;
#endif
}

__attribute__((always_inline)) inline uint64_t hash_last_block(uint64_t state, const uint8_t* p, size_t n,
                                                               uint64_t a, uint64_t b) {
  return folded(state ^ (load_u64(p) & kPrefixMasks.low[n]) ^ a,
                (load_u64(p + 8) & kPrefixMasks.high[n]) ^ b);
}

// Hashes words without the final mixing. Words of at most 16 bytes need no branch on their length. The inner
// loop stops at a longer word, so that the code for these takes no registers from it.
[[maybe_unused]] __attribute__((noinline)) void hash_words_unmixed(const uint8_t* text, const uint16_t* edges,
                                                                   size_t count, const WordKeys& keys,
                                                                   uint64_t* out) {
  const uint64_t a = keys.a;
  const uint64_t b = keys.b;
  for (size_t i = 0; i < count; ++i) {
    const uint8_t* p;
    size_t n;
    for (;; ++i) {
      uint32_t pair;
      __builtin_memcpy(&pair, edges + 2 * i, sizeof pair);
      p = text + (pair & 0xffff);
      n = (pair >> 16) - (pair & 0xffff);
      if (n > kWordBlock) break;
      out[i] = hash_last_block(0, p, n, a, b);
      if (i + 1 == count) return;
    }
    uint64_t state = 0;
    for (; n > kWordBlock; p += kWordBlock, n -= kWordBlock) {
      state = folded(state ^ load_u64(p) ^ a, load_u64(p + 8) ^ b);
    }
    out[i] = hash_last_block(state, p, n, a, b);
  }
}

}  // namespace
}  // namespace doppel
