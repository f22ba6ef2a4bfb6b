#pragma once
// Shared by the vector kernels. Their files are compiled for newer processors, so nothing in here may
// become a function that the linker could pick for everyone: constants and static functions only.

#include "text/kernels.h"

namespace doppel {

extern const TextKernels kTextAvx2;
extern const TextKernels kTextAvx512;

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

[[maybe_unused]] __attribute__((always_inline)) inline uint64_t folded(uint64_t a, uint64_t b) {
  __extension__ using uint128 = unsigned __int128;
  uint128 product = static_cast<uint128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// Words of at most 16 bytes without a loop or a branch on their length.
[[maybe_unused]] void hash_words_masked(const uint8_t* text, const uint16_t* edges, size_t count,
                                        const WordKeys& keys, uint64_t* out) {
  const uint64_t a = keys.a;
  const uint64_t b = keys.b;
  for (size_t i = 0; i < count; ++i) {
    uint32_t pair;
    __builtin_memcpy(&pair, edges + 2 * i, sizeof pair);
    const uint8_t* p = text + (pair & 0xffff);
    size_t n = (pair >> 16) - (pair & 0xffff);
    uint64_t state = 0;
    while (__builtin_expect(n > kWordBlock, 0)) {
      state = folded(state ^ load_u64(p) ^ a, load_u64(p + 8) ^ b);
      p += kWordBlock;
      n -= kWordBlock;
    }
    out[i] =
        folded(state ^ (load_u64(p) & kPrefixMasks.low[n]) ^ a, (load_u64(p + 8) & kPrefixMasks.high[n]) ^ b);
  }
}

}  // namespace
}  // namespace doppel
