#pragma once
// What winnowing does to all windows of a text at once.

#include <cstddef>
#include <cstdint>

#include "base/simd.h"

namespace doppel {

struct PrintKernels {
  // out[i] = the smaller one of a[i] and b[i], i < n. `out` may be `a`; `b` may be later values of `a`.
  void (*smaller)(const uint64_t* a, const uint64_t* b, size_t n, uint64_t* out);
  // out[i] = the smallest of values[i, i + 16), i + 16 <= n. `out` may be `values`.
  void (*sixteen)(const uint64_t* values, size_t n, uint64_t* out);
  // Writes the places i < n where values[i] is not values[i - 1], 0 among them, and returns how many. `out`
  // has room for n + 8.
  size_t (*changes)(const uint64_t* values, size_t n, uint32_t* out);
  // The last place i < n of this value; n if there is none.
  size_t (*last_of)(const uint64_t* values, size_t n, uint64_t value);
};
const PrintKernels& print_kernels_for(Simd level);

extern const PrintKernels kPrintKernelsAvx2, kPrintKernelsAvx512;

}  // namespace doppel
