#pragma once
// Which kernels run. Every kernel exists in a scalar form that anyone can read; faster forms live in
// files named *_avx2.cc and *_avx512.cc and give bit-identical results (tests force each level).

#include <string_view>

namespace doppel {

enum class Simd { scalar, avx2, avx512 };

// The best level that this processor has, lowered by the environment variable DOPPEL_SIMD
// (scalar|avx2|avx512) or by force_simd(). avx512 means F, BW, VL, DQ, CD, VBMI and VBMI2; avx2 includes
// BMI2.
Simd simd_level();

// The best level that this processor has, whatever was forced.
Simd simd_supported();

// For tests and benchmarks: at most `level` from now on. Call before starting threads.
void force_simd(Simd level);

std::string_view simd_name(Simd level);

}  // namespace doppel
