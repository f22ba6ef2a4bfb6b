#pragma once
// What two compact sets have in common, value by value.

#include <cstddef>
#include <cstdint>
#include <span>

namespace doppel {

// For each i, sets marks[i] to nonzero if some other[j] >> other_shift equals values[i] >> shift, and to 0 if
// none does. Both arrays ascend; `marks` is as long as `values`.
void mark_common(std::span<const uint32_t> values, int shift, std::span<const uint32_t> other,
                 int other_shift, uint32_t* marks);
// Like mark_common(), but only for whole blocks, until one of the arrays has no more of them. Returns how
// many `values` and how many of `other` it has passed; the passed `values` have their marks.
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
