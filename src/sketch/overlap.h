#pragma once
// How many values of ascending b, shifted down and counted once, are in strictly ascending a. Neither is
// empty.

#include <cstddef>
#include <cstdint>

namespace doppel {

size_t common_values_scalar(const uint32_t* a, size_t na, const uint32_t* b, size_t nb, int shift);
size_t common_values_avx2(const uint32_t* a, size_t na, const uint32_t* b, size_t nb, int shift);

// How many values of ascending b are left when they are shifted down.
size_t distinct_shifted_avx2(const uint32_t* b, size_t nb, int shift);

}  // namespace doppel
