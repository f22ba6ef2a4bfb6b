#pragma once
// Selects the kernels. Every kernel has a readable scalar form; faster forms are in files named *_neon.cc (of
// arm64), *_avx2.cc and *_avx512.cc and give bit-identical results (tests force each level).

#include <string_view>
#include <vector>

namespace doppel {

enum class Simd { scalar, neon, avx2, avx512 };

// The best level of this processor, unless the environment variable DOPPEL_SIMD (a name) or
// force_simd() lowers it. avx512 means F, BW, VL, DQ, CD, VBMI and VBMI2; avx2 includes BMI2.
Simd simd_level();

// The best level of this processor, whatever was forced.
Simd simd_supported();

// All levels of this processor, the lowest first.
std::vector<Simd> simd_levels();

// For tests and benchmarks: limits the level from now on. Call before starting threads.
void force_simd(Simd level);

std::string_view simd_name(Simd level);

// Prefetches a cache line. g++ considers a function that only calls __builtin_prefetch free of effects, and
// drops calls that it does not inline. The empty assembly counts as an effect.
[[gnu::always_inline]] static inline void fetch(const void* p) {
  __builtin_prefetch(p);
  asm volatile("" : : "r"(p));
}

}  // namespace doppel
