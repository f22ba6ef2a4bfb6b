#pragma once
// Compares candidate rows with a query: which slices are equal, how many, and which bands match.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/simd.h"
#include "index/index.h"
#include "index/row_store.h"

namespace doppel {

// For i < k, sets bit i%64 of bits[i/64] to (a[i] == b[i]). Clears the other bits of the (k + 63) / 64 words.
// Returns the number of ones.
using EqualBits = int (*)(const uint8_t* a, const uint8_t* b, int k, uint64_t* bits);
int equal_bits_scalar(const uint8_t* a, const uint8_t* b, int k, uint64_t* bits);
int equal_bits_neon(const uint8_t* a, const uint8_t* b, int k, uint64_t* bits);
int equal_bits_avx2(const uint8_t* a, const uint8_t* b, int k, uint64_t* bits);
int equal_bits_avx512(const uint8_t* a, const uint8_t* b, int k, uint64_t* bits);
EqualBits equal_bits_for(Simd level);

// Returns true if bits [from, from + count) are all 1. May read one word beyond the last bit.
inline bool all_ones(const uint64_t* bits, int from, int count) {
  while (count > 0) {
    const int shift = from & 7;
    const int take = count < 57 ? count : 57;
    const uint64_t mask = (uint64_t{1} << take) - 1;
    const uint64_t word = load<uint64_t>(reinterpret_cast<const uint8_t*>(bits) + (from >> 3)) >> shift;
    if ((word & mask) != mask) return false;
    from += take;
    count -= take;
  }
  return true;
}

// Turns rows that may match a query into what is found: candidates, and how many rows each band lists.
class RowJudge {
 public:
  RowJudge(const CandidateIndexOptions& options, const RowLayout& layout)
      : options_(options), layout_(layout), equal_bits_(equal_bits_for(simd_level())) {
    bits_.resize(static_cast<size_t>(options.num_perm) / 64 + 2);
    matched_.resize(static_cast<size_t>(options.banding.bands) / 32 + 1);
  }

  void begin(Found& found) {
    found.exact.reset();
    found.candidates.clear();
    found.counts.clear();
    any_ = false;
  }

  // Compares the row with the query's slices. Sets a bit of matched() for each band that lists the row and
  // has equal slices. Returns the number of equal slices, or -1 if no band matches or the row is removed.
  int match(const uint8_t* slices, const uint8_t* row) {
    if (!layout_.comparable(row)) return -1;
    const int equal = equal_bits_(row, slices, options_.num_perm, bits_.data());
    const uint32_t* mask = layout_.mask(row);
    uint32_t any = 0;
    for (size_t w = 0; w * 32 < static_cast<size_t>(options_.banding.bands); ++w) {
      uint32_t found = 0;
      for (uint32_t listed = mask[w]; listed != 0; listed &= listed - 1) {
        const int bit = std::countr_zero(listed);
        const int band = static_cast<int>(w) * 32 + bit;
        if (band >= options_.banding.bands) break;
        if (all_ones(bits_.data(), band * options_.banding.rows, options_.banding.rows))
          found |= uint32_t{1} << bit;
      }
      matched_[w] = found;
      any |= found;
    }
    return any != 0 ? equal : -1;
  }
  // The bands of the last match() that returned a number of slices.
  const PodVector<uint32_t>& matched() const { return matched_; }

  // Adds the live row of the last match().
  void add(Seq seq, int equal, Found& found) {
    if (!any_) counts_.assign(static_cast<size_t>(options_.banding.bands), 0);
    any_ = true;
    for (size_t w = 0; w * 32 < counts_.size(); ++w) {
      for (uint32_t m = matched_[w]; m != 0; m &= m - 1) {
        uint16_t& count = counts_[w * 32 + static_cast<size_t>(std::countr_zero(m))];
        if (count < 0xffff) ++count;
      }
    }
    if (equal >= options_.min_equal) found.candidates.push_back({seq, equal});
  }

  void end(Found& found) const {
    if (!any_) return;
    for (size_t j = 0; j < counts_.size(); ++j) {
      if (counts_[j] != 0) found.counts.push_back({static_cast<uint16_t>(j), counts_[j]});
    }
    std::sort(found.candidates.begin(), found.candidates.end(), [](const Candidate& a, const Candidate& b) {
      return a.equal != b.equal ? a.equal > b.equal : a.seq < b.seq;
    });
  }

 private:
  const CandidateIndexOptions& options_;
  const RowLayout& layout_;
  const EqualBits equal_bits_;
  PodVector<uint64_t> bits_;
  PodVector<uint32_t> matched_;
  PodVector<uint16_t> counts_;
  bool any_ = false;  // a row was added
};

}  // namespace doppel
