#pragma once
// Counts the distinct values of b >> shift that are in a. `a` ascends strictly, `b` ascends; neither is
// empty.

#include <cstddef>
#include <cstdint>

namespace doppel {

size_t common_values_scalar(const uint32_t* a, size_t na, const uint32_t* b, size_t nb, int shift);
size_t common_values_avx2(const uint32_t* a, size_t na, const uint32_t* b, size_t nb, int shift);

// Counts the distinct values of b >> shift, for ascending b.
size_t distinct_shifted_avx2(const uint32_t* b, size_t nb, int shift);

}  // namespace doppel
