#pragma once
// Sorts 32-bit hash tops in linear time for any input, and removes repeated values.
//
// Hashes are uniform, so one pass by the top log2(n) bits leaves only a few neighbours out of order, and a
// few vectorised compare-and-exchange sweeps over the array fix them. If the values are not uniform, the
// sweeps do not end; then three passes of 11 bits sort them.

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"

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

// The bucket sort. The vector kernels differ only in the two steps that they give it.
//
// The function has internal linkage, so that a copy compiled for newer processors stays in its kernel.

namespace {

// running_starts(counts, size): counts[i] = the sum of all counts before it; `size` is a power of two, and at
// least 16. sweep(v, n): orders every second pair of neighbours, and returns whether any was out of order; it
// may write 8 values past the end. Sorts 8 values or more.
template <typename RunningStarts, typename Sweep>
bool bucket_sort_by(const uint32_t* values, size_t n, uint32_t* sorted, const RunningStarts& running_starts,
                    const Sweep& sweep) {
  constexpr int kMostSweeps = 24;
  alignas(32) uint16_t starts[2 * kBucketSortMost];
  uint16_t ranks[kBucketSortMost];
  // n/2 < buckets/2 <= n: the average bucket holds between 0.5 and 1 values.
  const int log = 32 - __builtin_clz(static_cast<uint32_t>(n));
  const size_t buckets = size_t{1} << log;
  const int shift = 32 - log;
  __builtin_memset(starts, 0, buckets * sizeof *starts);
  // Keeps the rank within the bucket, so that the second pass only reads the starts.
  for (size_t i = 0; i < n; ++i) ranks[i] = starts[values[i] >> shift]++;
  running_starts(starts, buckets);
  for (size_t i = 0; i < n; ++i) sorted[starts[values[i] >> shift] + ranks[i]] = values[i];
  for (size_t i = 0; i < kBucketSortRoom; ++i) sorted[n + i] = ~uint32_t{0};
  for (int i = 0; i < kMostSweeps; i += 2) {
    const bool even = sweep(sorted, n);
    const bool odd = sweep(sorted + 1, n);
    if (!even && !odd) return true;
  }
  return false;
}

}  // namespace

}  // namespace doppel
