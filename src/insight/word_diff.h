#pragma once
// Which words two texts have in common, in order: Myers' O(ND) difference in linear space.
//
// Two long, unrelated texts would take quadratic time. Work is therefore counted: where a range gets too
// expensive it is cut at anchors (runs of words that occur exactly once on each side, put in order by the
// longest increasing subsequence) and the parts between are compared on their own; what is left without an
// anchor is given as replaced. The result is always a correct difference, only no longer the shortest.
// Work is counted in steps, never in time: same input, same difference.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace doppel {

// Words [a_begin, a_end) of one side against [b_begin, b_end) of the other: equal word by word, or
// replaced (either may be empty, not both).
struct DiffHunk {
  bool equal = false;
  size_t a_begin = 0, a_end = 0, b_begin = 0, b_end = 0;
  size_t removed() const { return equal ? 0 : a_end - a_begin; }
  size_t added() const { return equal ? 0 : b_end - b_begin; }
  bool operator==(const DiffHunk&) const = default;
};

struct DiffLimits {
  uint64_t steps_per_range = 20'000'000;  // about 50 ms
  uint64_t steps_in_all = 200'000'000;
};

struct WordDiff {
  std::vector<DiffHunk> hunks;  // equal and replaced ones in turn; they cover both sides
  bool shortest = true;         // false: anchors were needed
};

// Words are numbers that are equal iff the words are. At most 2^30 on each side.
WordDiff diff_words(std::span<const uint32_t> a, std::span<const uint32_t> b, const DiffLimits& limits = {});

// Equal runs that are short beside the changes on both sides ("the" in the middle of two rewritten sentences)
// only make a difference hard to read: makes them part of the change.
void absorb_short_runs(std::vector<DiffHunk>& hunks);

}  // namespace doppel
