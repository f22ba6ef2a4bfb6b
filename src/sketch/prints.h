#pragma once
// Prints of a text by winnowing (Schleimer, Wilkerson, Aiken 2003): of every `window` consecutive shingles
// the one with the smallest hash. Texts that share so long a run of shingles share a print.
//
// Nesting: the smallest of a wider window is the smallest of some narrower window in it. So an original
// stores prints of wide windows and a document asks with those of narrow ones: what it asks includes what it
// stores.
//
// A print is 44 bits of a keyed hash of its shingle; the lowest 32 of them are not all zero.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/pod_vector.h"

namespace doppel {

inline constexpr int kPrintBits = 44;

struct Print {
  uint64_t key = 0;       // kPrintBits of them
  uint32_t position = 0;  // of its shingle in the text
  // Of the key: those of the text, in the order in which they come first.
  uint32_t number : 31 = 0;
  uint32_t stored : 1 = 0;  // an original keeps it
  bool operator==(const Print&) const = default;
};

// The windows of a text with so many shingles, where passages of `passage` shingles are to be found. Short
// texts have narrower ones: about sixteen prints at least.
inline uint32_t stored_window(size_t shingles, uint32_t passage) {
  const size_t narrow = std::max<size_t>(4, shingles / 8);
  return static_cast<uint32_t>(std::min<size_t>(passage, narrow));
}
inline constexpr uint32_t kAskedWindowMost = 25;
inline uint32_t asked_window(size_t shingles, uint32_t passage) {
  return std::min(stored_window(shingles, passage), kAskedWindowMost);
}

// The prints of a text whose shingles these are, in their order, by ascending position: those that it asks
// with, of which some are stored. A key may come several times; then it is stored in all places or none.
// `salt`: of the index, and of the scope.
void find_prints(std::span<const uint64_t> shingles, uint32_t passage, uint64_t salt, PodVector<Print>& out);

// How many different keys there are.
inline uint32_t distinct_prints(std::span<const Print> prints) {
  uint32_t out = 0;
  for (const Print& print : prints) out = std::max(out, print.number + 1u);
  return out;
}

}  // namespace doppel
