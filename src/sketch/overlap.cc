// The overlap of two compact sets: a merge of two sorted arrays without branches on their values.

#include <algorithm>

#include "sketch/compact_set.h"

namespace doppel {
namespace {

// How many values of ascending b, shifted down and counted once, are in strictly ascending a.
size_t common_values(const uint32_t* a, size_t na, const uint32_t* b, size_t nb, int shift) {
  size_t common = 0;
  size_t i = 0;
  size_t j = 0;
  while (i < na && j < nb) {
    uint32_t left = a[i];
    uint32_t right = b[j] >> shift;
    common += left == right;
    i += left <= right;
    j += right <= left;
  }
  return common;
}

size_t distinct_values(const uint32_t* b, size_t nb, int shift) {
  size_t distinct = nb != 0 ? 1 : 0;
  for (size_t j = 1; j < nb; ++j) distinct += b[j] >> shift != b[j - 1] >> shift;
  return distinct;
}

}  // namespace

Overlap overlap(const CompactSet& a, const CompactSet& b) {
  if (a.values.empty() || b.values.empty()) return {0, a.values.size() + b.values.size()};
  if (a.bits > b.bits) return overlap(b, a);
  const int shift = b.bits - a.bits;
  uint64_t inter = common_values(a.values.data(), a.values.size(), b.values.data(), b.values.size(), shift);
  uint64_t sizes = a.values.size() + distinct_values(b.values.data(), b.values.size(), shift);
  return {inter, sizes - inter};
}

}  // namespace doppel
