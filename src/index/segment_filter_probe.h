#pragma once
// The probe, for kernels with and without an instruction that counts bits. Static: see line.h.

#include "index/fetch.h"
#include "index/segment_filter.h"

namespace doppel {

// Whether a column sums to one, in the lowest bit, for columns [from, to).
static inline uint64_t filter_odd(const uint64_t* block, uint32_t columns, uint32_t from, uint32_t to,
                                  uint64_t low, uint64_t high) {
  uint64_t odd = 0;
  for (uint32_t c = from; c < to; ++c) {
    const uint64_t chosen = (block[c] & low) ^ (block[columns + c] & high);
    odd |= static_cast<uint64_t>(__builtin_parityll(chosen));
  }
  return odd;
}

static inline size_t filter_probe_inline(const uint64_t* words, const FilterShape& shape,
                                         const uint64_t* keys, const uint64_t* coefficients, size_t n,
                                         uint32_t* hits) {
  constexpr uint32_t kFirst = FilterShape::kColumnsLeast;  // columns that most keys fail
  constexpr size_t kAhead = 32;                            // keys whose lines are on their way
  FilterPlace places[kAhead];
  size_t count = 0;
  for (size_t i = 0; i < n + kAhead; ++i) {
    FilterPlace& place = places[i % kAhead];
    if (i >= kAhead) {
      const uint64_t coefficient = coefficients[i - kAhead];
      const uint64_t* block = words + place.word;
      const uint64_t low = coefficient << place.slot;
      const uint64_t high = coefficient >> 1 >> (63 - place.slot);
      if (filter_odd(block, shape.columns, 0, kFirst, low, high) == 0 &&
          filter_odd(block, shape.columns, kFirst, shape.columns, low, high) == 0)
        hits[count++] = static_cast<uint32_t>(i - kAhead);
    }
    if (i >= n) continue;
    place = filter_place(shape, keys[i]);
    const uint32_t last = shape.columns + kFirst - 1;  // the word that most probes read last
    for (uint32_t word = 0; word < last; word += 8) fetch(words + place.word + word);
    fetch(words + place.word + last);
  }
  return count;
}

}  // namespace doppel
