#pragma once
// The bucket sort of radix_sort.h. The vector kernels differ only in the two steps that they give it.
//
// The function has internal linkage, so that a copy compiled for newer processors stays in its kernel.

#include <cstddef>
#include <cstdint>

#include "sketch/radix_sort.h"

namespace doppel {
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
