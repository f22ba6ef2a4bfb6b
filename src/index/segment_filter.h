#pragma once
// Which keys a segment may have: a homogeneous ribbon filter (Dillinger and others, 2022).
//
// The filter is a matrix of bits with some columns and a row for each slot. A key belongs to 64 consecutive
// slots, of which its coefficients choose about half. The filter has a key if these rows sum to zero, column
// by column. The matrix is solved so that this holds for each key that was added; for another key it holds by
// chance, with 2^-columns. There are some more slots than keys, so that not only zeros solve it.
//
// Slots are in the order of keys, and chunks of them are solved by themselves: a filter is written from its
// front while keys ascend. 64 slots are a block: a word for each column. A probe touches two neighbouring
// blocks.
//
// A key that occurs more than once may be added a second time, as repeated: so a reader that knows one
// original with a key knows whether there may be others.

#include <cstdint>
#include <string_view>

#include "base/bytes.h"
#include "base/simd.h"
#include "index/segment_format.h"

namespace doppel {

// Where the rows of a key begin: the first word of its first block, and the slot in it.
struct FilterPlace {
  uint64_t word;
  uint32_t slot;
};

inline uint64_t filter_coefficients(uint64_t key, bool repeated) {
  return mix64(key ^ (repeated ? 0x3c79ac492ba7b653u : 0x1c69b3f74ac4ae35u)) | 1;
}

inline uint64_t filter_chunk(const FilterShape& shape, uint64_t key, uint64_t* rest) {
  __extension__ using uint128 = unsigned __int128;
  const uint128 product = static_cast<uint128>(key << (64 - kSegmentKeyBits)) * shape.chunks;
  *rest = static_cast<uint64_t>(product);
  return static_cast<uint64_t>(product >> 64);
}
// In the chunk.
inline uint32_t filter_slot(const FilterShape& shape, uint64_t rest) {
  return static_cast<uint32_t>((rest >> 32) * (shape.slots - 63) >> 32);
}

inline FilterPlace filter_place(const FilterShape& shape, uint64_t key) {
  uint64_t rest = 0;
  const uint64_t chunk = filter_chunk(shape, key, &rest);
  const uint32_t slot = filter_slot(shape, rest);
  return {(chunk * (shape.slots / 64) + slot / 64) * shape.columns, slot % 64};
}

// Writes to `hits` the indices of keys that the filter has, and returns how many. `coefficients` are those of
// the keys, as repeated or not. `words` has a block more than the filter.
using FilterProbe = size_t (*)(const uint64_t* words, const FilterShape& shape, const uint64_t* keys,
                               const uint64_t* coefficients, size_t n, uint32_t* hits);
size_t filter_probe_scalar(const uint64_t* words, const FilterShape& shape, const uint64_t* keys,
                           const uint64_t* coefficients, size_t n, uint32_t* hits);
size_t filter_probe_avx2(const uint64_t* words, const FilterShape& shape, const uint64_t* keys,
                         const uint64_t* coefficients, size_t n, uint32_t* hits);
FilterProbe filter_probe_for(Simd level);

// Solves one chunk after the other.
class FilterBuilder {
 public:
  explicit FilterBuilder(const FilterShape& shape);

  uint64_t chunk_of(uint64_t key) const {
    uint64_t rest = 0;
    return filter_chunk(shape_, key, &rest);
  }
  // The key is of the current chunk.
  void add(uint64_t key, bool repeated);
  // Ends the chunk. Its bytes are valid until the next call.
  std::string_view solve();
  uint64_t chunk() const { return chunk_; }

 private:
  FilterShape shape_;
  uint64_t chunk_ = 0;                // the current one
  PodVector<uint64_t> coefficients_;  // by slot: of the equation that begins there; 0: none
  PodVector<uint64_t> words_;
};

// The probe, for kernels with and without an instruction that counts bits. Static: see line.h.

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
