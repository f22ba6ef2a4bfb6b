#pragma once
// Finds the words that two texts have in common, in order, by Myers' O(ND) difference algorithm in linear
// space.
//
// Two long, unrelated texts would take quadratic time, so the work is limited. A range that gets too
// expensive is split at anchors (runs of words that occur exactly once on each side, ordered by the longest
// increasing subsequence), and the parts are compared separately. What remains without an anchor is reported
// as replaced. The result is always a correct difference, but not always the shortest. The limit counts
// steps, not time, so the same input gives the same difference.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace doppel {

// Words [a_begin, a_end) of one side and [b_begin, b_end) of the other: equal word by word, or replaced (at
// most one side is empty).
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
  std::vector<DiffHunk> hunks;  // alternately equal and replaced; they cover both sides
  bool shortest = true;         // false if anchors were needed
};

// Each word is a number; equal numbers mean equal words. At most 2^30 words on each side.
WordDiff diff_words(std::span<const uint32_t> a, std::span<const uint32_t> b, const DiffLimits& limits = {});

// An equal run that is short compared with the changes on both sides ("the" between two rewritten sentences)
// only makes a difference hard to read. Merges it into the change.
void absorb_short_runs(std::vector<DiffHunk>& hunks);

}  // namespace doppel
