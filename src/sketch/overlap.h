#pragma once
// What two compact sets have in common, value by value.

#include <cstddef>
#include <cstdint>
#include <span>

namespace doppel {

// Sets marks[i] to nonzero where values[i] >> shift is any other[j] >> other_shift, and to 0 elsewhere. Both
// ascend; `marks` are as many as `values`.
void mark_common(std::span<const uint32_t> values, int shift, std::span<const uint32_t> other,
                 int other_shift, uint32_t* marks);
// The same for whole blocks, from the first ones on until one of both has no more. Returns how many of
// `values` and of `other` are done with: all before them have their marks.
struct Marked {
  size_t values, other;
};
Marked mark_common_avx2(std::span<const uint32_t> values, int shift, std::span<const uint32_t> other,
                        int other_shift, uint32_t* marks);

// Count the distinct values of b >> shift that are in a. `a` ascends strictly, `b` ascends; neither is empty.
size_t common_values_scalar(const uint32_t* a, size_t na, const uint32_t* b, size_t nb, int shift);
size_t common_values_avx2(const uint32_t* a, size_t na, const uint32_t* b, size_t nb, int shift);

// Counts the distinct values of b >> shift, for ascending b.
size_t distinct_shifted_avx2(const uint32_t* b, size_t nb, int shift);

}  // namespace doppel
