#pragma once
// Sorting 32-bit hash tops in linear time, whatever they are, and keeping each value once.
//
// Hashes are uniform, so one pass by the top log2(n) bits leaves only a few neighbours in the wrong order,
// and a few sweeps of compare-and-exchange over the whole array, in vectors, put them right. Numbers that are
// not uniform are noticed (the sweeps do not end) and go the old way: three passes of 11 bits.

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/pod_vector.h"

namespace doppel {

// Sorts `tops` into `sorted`, which does not hold them.
void sort_tops(std::span<const uint32_t> tops, PodVector<uint32_t>& sorted);

// How many different values there are in sorted[0..n).
size_t count_distinct(const uint32_t* sorted, size_t n);

// values[i] >>= shift, each result once. Returns how many.
size_t shift_distinct(uint32_t* values, size_t n, int shift);

// For sets of this size the vectors are faster.
inline constexpr size_t kBucketSortMost = 4096;
inline constexpr size_t kBucketSortRoom = 16;  // more than n values are written

// False if the numbers are too far from uniform; `sorted`, with room for n + kBucketSortRoom values, is
// rubbish then.
bool bucket_sort_avx2(const uint32_t* values, size_t n, uint32_t* sorted);
size_t count_distinct_avx2(const uint32_t* sorted, size_t n);
size_t shift_distinct_avx2(uint32_t* values, size_t n, int shift);

}  // namespace doppel
