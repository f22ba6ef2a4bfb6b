#pragma once
// Sorts 32-bit hash tops in linear time for any input, and removes repeated values.
//
// Hashes are uniform, so one pass by the top log2(n) bits leaves only a few neighbours out of order, and a
// few vectorised compare-and-exchange sweeps over the array fix them. If the values are not uniform, the
// sweeps do not end; then three passes of 11 bits sort them.

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/pod_vector.h"

namespace doppel {

// Sorts `tops` into `sorted`. They must not overlap.
void sort_tops(std::span<const uint32_t> tops, PodVector<uint32_t>& sorted);

// Returns the number of different values in sorted[0..n).
size_t count_distinct(const uint32_t* sorted, size_t n);

// values[i] >>= shift, keeping each result once. Returns the number of results.
size_t shift_distinct(uint32_t* values, size_t n, int shift);

// Up to this size the vectorised sort is faster.
inline constexpr size_t kBucketSortMost = 4096;
inline constexpr size_t kBucketSortRoom = 16;  // extra room, because more than n values are written

// Returns false if the values are too far from uniform; then `sorted` has undefined content. `sorted` needs
// room for n + kBucketSortRoom values.
bool bucket_sort_avx2(const uint32_t* values, size_t n, uint32_t* sorted);
size_t count_distinct_avx2(const uint32_t* sorted, size_t n);
size_t shift_distinct_avx2(uint32_t* values, size_t n, int shift);
bool bucket_sort_neon(const uint32_t* values, size_t n, uint32_t* sorted);
size_t count_distinct_neon(const uint32_t* sorted, size_t n);

}  // namespace doppel
