#pragma once
// The steps of winnowing, each for all windows of a text at once.

#include <cstddef>
#include <cstdint>

#include "base/simd.h"

namespace doppel {

struct PrintKernels {
  // out[i] = min(a[i], b[i]), i < n. `out` may be `a`; `b` may point to later values of `a`.
  void (*smaller)(const uint64_t* a, const uint64_t* b, size_t n, uint64_t* out);
  // out[i] = the minimum of values[i, i + 16), i + 16 <= n. `out` may be `values`.
  void (*sixteen)(const uint64_t* values, size_t n, uint64_t* out);
  // Writes the indices i < n where values[i] differs from values[i - 1], including 0, and returns their
  // number. `out` has room for n + 8.
  size_t (*changes)(const uint64_t* values, size_t n, uint32_t* out);
  // Returns the last index i < n with this value; n if there is none.
  size_t (*last_of)(const uint64_t* values, size_t n, uint64_t value);
};
const PrintKernels& print_kernels_for(Simd level);

extern const PrintKernels kPrintKernelsAvx2, kPrintKernelsAvx512;

}  // namespace doppel
