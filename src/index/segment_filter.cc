#include "index/segment_filter.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace doppel {

FilterShape FilterShape::of(uint64_t keys, uint32_t columns) {
  FilterShape shape;
  const double slots = static_cast<double>(keys) * kSlotsForAKey;
  shape.chunks = static_cast<uint64_t>(slots / kChunkSlots) + 1;
  shape.slots = static_cast<uint32_t>(slots / static_cast<double>(shape.chunks) / 64 + 2) * 64;
  shape.columns = columns;
  return shape;
}

size_t filter_probe_scalar(const uint64_t* words, const FilterShape& shape, const uint64_t* keys,
                           const uint64_t* coefficients, size_t n, uint32_t* hits) {
  return filter_probe_inline(words, shape, keys, coefficients, n, hits);
}

FilterProbe filter_probe_for(Simd level) {
#if defined(__x86_64__)
  if (level == Simd::avx2 || level == Simd::avx512) return filter_probe_avx2;
#endif
  (void)level;
  return filter_probe_scalar;
}

FilterBuilder::FilterBuilder(const FilterShape& shape)
    : shape_(shape), coefficients_(shape.slots), words_(uint64_t{shape.slots} / 64 * shape.columns) {
  std::fill(coefficients_.begin(), coefficients_.end(), uint64_t{0});
}

void FilterBuilder::add(uint64_t key, bool repeated) {
  uint64_t rest = 0;
  const uint64_t chunk = filter_chunk(shape_, key, &rest);
  DOPPEL_CHECK(chunk == chunk_, "keys of a filter ascend", chunk, chunk_);
  uint64_t slot = filter_slot(shape_, rest);
  uint64_t equation = filter_coefficients(key, repeated);
  while (coefficients_[slot] != 0) {
    equation ^= coefficients_[slot];
    if (equation == 0) return;  // the others imply it
    const int zeros = std::countr_zero(equation);
    equation >>= zeros;
    slot += static_cast<uint64_t>(zeros);
  }
  coefficients_[slot] = equation;
}

std::string_view FilterBuilder::solve() {
  // From the last slot to the first: of each column the bits of the 64 slots from here on.
  uint64_t columns[FilterShape::kColumnsMost] = {};
  for (uint64_t slot = shape_.slots; slot-- > 0;) {
    const uint64_t equation = coefficients_[slot];
    // A slot without an equation is free.
    const uint64_t random = mix64((chunk_ * shape_.slots + slot) ^ 0x8ebc6af09c88c6e3u);
    for (uint32_t c = 0; c < shape_.columns; ++c) {
      const uint64_t later = columns[c] << 1;
      const uint64_t bit =
          equation == 0 ? random >> c & 1 : static_cast<uint64_t>(__builtin_parityll(later & equation));
      columns[c] = later | bit;
      if (slot % 64 == 0) words_[slot / 64 * shape_.columns + c] = columns[c];
    }
  }
  std::fill(coefficients_.begin(), coefficients_.end(), uint64_t{0});
  ++chunk_;
  return {reinterpret_cast<const char*>(words_.data()), 8 * words_.size()};
}

}  // namespace doppel
