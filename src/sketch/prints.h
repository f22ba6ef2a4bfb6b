#pragma once
// Prints of a text by winnowing (Schleimer, Wilkerson, Aiken 2003): the shingle with the smallest hash of
// every `window` consecutive shingles. Texts that share a run of `window` shingles share a print. Hashes are
// compared by their highest 32 bits, so that twice as many fit into a vector.
//
// Windows nest: the minimum of a wide window is also the minimum of some narrower window in it. So an
// original stores the prints of wide windows, and a document queries with the prints of narrow ones, which
// include its stored ones.
//
// An original also stores the minimum of each of its beginnings, from a narrow window up to a wide one. So a
// document that is only the beginning of a text finds it, however short: its own minimum is stored. These are
// few, because each is smaller than the one before: 1 + ln(wide / narrow) on the average, one of them stored
// anyway.
//
// A print is 44 bits of a keyed hash of its shingle; the lowest 32 of them are not all zero.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "base/simd.h"

namespace doppel {

inline constexpr int kPrintBits = 44;
inline constexpr size_t kPrintsCounted = 127;  // of an original; an index counts no further

struct Print {
  uint64_t key = 0;       // kPrintBits bits
  uint32_t position = 0;  // index of its shingle in the text
  // The number of the key among the text's keys, in order of first occurrence.
  uint32_t number : 31 = 0;
  uint32_t stored : 1 = 0;  // the original stores it
  bool operator==(const Print&) const = default;
};

// The windows for a text of `shingles` shingles in which passages of `passage` shingles are to be found.
// Short texts have narrower windows, so that they store about twelve prints.
inline uint32_t stored_window(size_t shingles, uint32_t passage) {
  const size_t narrow = std::max<size_t>(4, shingles / 6);
  return static_cast<uint32_t>(std::min<size_t>(passage, narrow));
}
inline constexpr uint32_t kAskedWindowMost = 25;
inline uint32_t asked_window(size_t shingles, uint32_t passage) {
  return std::min(stored_window(shingles, passage), kAskedWindowMost);
}

// Finds the prints that a text queries with, by ascending position; some of them are marked as stored.
// `shingles` has the shingles of the text in order, and `tops` their highest 32 bits. A key may occur several
// times; then all its prints are stored, or none. `salt` depends on the index and the scope.
void find_prints(std::span<const uint64_t> shingles, std::span<const uint32_t> tops, uint32_t passage,
                 uint64_t salt, PodVector<Print>& out);

// Prefetches the prints of a document that will be read soon.
inline void fetch_prints(std::span<const Print> prints) {
  constexpr size_t kOfLine = 64 / sizeof(Print);
  for (size_t i = 0; i < prints.size(); i += kOfLine) fetch(&prints[i]);
}

// Returns the number of different keys.
inline uint32_t distinct_prints(std::span<const Print> prints) {
  uint32_t out = 0;
  for (const Print& print : prints) out = std::max(out, print.number + 1u);
  return out;
}

// The steps of winnowing, each for all windows of a text at once.
struct PrintKernels {
  // out[i] = min(a[i], b[i]), i < n. `out` may be `a`; `b` may point to later values of `a`.
  void (*smaller)(const uint32_t* a, const uint32_t* b, size_t n, uint32_t* out);
  // least[i] is the minimum of the window of `window` (at most 32) values that begins with values[i], i < n.
  // Lists the positions of the minima, each once, ascending, and returns their number. If a minimum occurs
  // several times in a window, takes the last one, and keeps it as long as it is in the window. `out` has
  // room for n positions; `changes`, which is a buffer, for n + 16.
  size_t (*minima)(const uint32_t* values, const uint32_t* least, size_t n, size_t window, uint32_t* changes,
                   uint32_t* out);
};
const PrintKernels& print_kernels_for(Simd level);

extern const PrintKernels kPrintKernelsAvx2, kPrintKernelsAvx512;

// PrintKernels::minima of an instruction set, from two functions in an anonymous namespace:
//
//   size_t find_changes(const uint32_t* values, size_t n, uint32_t* out);
//     writes the indices i < n where values[i] differs from values[i - 1], including 0, and returns their
//     number; `out` has room for n + 16, n > 0
//   size_t last_of(const uint32_t* values, size_t n, uint32_t value);
//     returns the last index i < n with this value, which there is; n <= 32
template <auto find_changes, auto last_of>
static inline size_t minima_by(const uint32_t* values, const uint32_t* least, size_t n, size_t window,
                               uint32_t* changes, uint32_t* out) {
  const size_t all = find_changes(least, n, changes);
  size_t count = 0;
  for (size_t change = 0; change < all; ++change) {
    const size_t end = change + 1 < all ? changes[change + 1] : n;
    for (size_t begin = changes[change]; begin < end;) {
      const size_t at = begin + last_of(values + begin, window, least[begin]);
      out[count++] = static_cast<uint32_t>(at);
      begin = at + 1;
    }
  }
  return count;
}

}  // namespace doppel
