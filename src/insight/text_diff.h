#pragma once
// The difference between two texts, word by word. Words are equal if an index with this normalisation takes
// them for equal (standard: whatever their case and the form of their accents), and shown as written.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "sketch/compact_set.h"
#include "text/shingler.h"

namespace doppel {

// Finds the words that two texts have in common, in order, by Myers' O(ND) difference algorithm in linear
// space.
//
// Two long, unrelated texts would take quadratic time, so the work is limited. A range that gets too
// expensive is split at anchors (runs of words that occur exactly once on each side, ordered by the longest
// increasing subsequence), and the parts are compared separately. What remains without an anchor is reported
// as replaced. The result is always a correct difference, but not always the shortest. The limit counts
// steps, not time, so the same input gives the same difference.

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

// Word i of a text: bytes [begin, end), and a number that is the same for equal words of both texts.
struct DiffWord {
  size_t begin = 0, end = 0;
  uint32_t word = 0;
};

struct TextDiff {  // views; both texts must outlive it
  std::string_view a, b;
  std::vector<DiffWord> a_words, b_words;
  std::vector<DiffHunk> hunks;
  bool shortest = true;
  uint64_t equal = 0, removed = 0, added = 0;  // words
};

TextDiff diff_texts(std::string_view a, std::string_view b,
                    Normalisation normalisation = Normalisation::standard);

// Returns the text of words [begin, end), up to the start of the next word. The first and the last range
// include the start and the end of the text, so consecutive ranges give the whole text.
std::string_view text_of(std::string_view text, const std::vector<DiffWord>& words, size_t begin, size_t end);

// Prepares a difference for display: keeps at most `context` equal words on either side of a change, and
// elides the rest.
enum class Mark { equal, removed, added, elided };
struct DiffPiece {
  Mark mark = Mark::equal;
  std::string_view a, b;  // equal, elided: both; removed: only a; added: only b
  size_t words = 0;
};
std::vector<DiffPiece> diff_pieces(const TextDiff& diff, size_t context);

// Renders [-removed-]{+added+}; with colour, also red and struck through, or green and underlined. Replaces
// what a terminal could take for a command.
std::string render_diff(const std::vector<DiffPiece>& pieces, bool colour);

// Finds the passages that two texts have in common: how much of each text is in the other, and where.
struct Passage {
  WordRange words;
  ByteRange bytes;
};

struct CommonPassages {
  // The relation of the second text to the first one, if the first is the only original: with two texts, no
  // passage is known to be common.
  std::optional<Relation> relation;
  bool asked = false;                          // the settings ask for this relation
  uint64_t shared = 0, first = 0, second = 0;  // shingles
  std::vector<Passage> in_first, in_second;    // the longest, ascending
};

// The relations of the settings; if the settings name only `near`: all relations, with their defaults.
RelationRule relations_to_explain(const EngineOptions& options);

// A text, its shingles in order and its set.
struct PassageText {
  std::string_view text;
  std::span<const uint32_t> tops;
  const CompactSet& set;
};
CommonPassages common_passages(const EngineOptions& options, const PassageText& first,
                               const PassageText& second);

}  // namespace doppel
