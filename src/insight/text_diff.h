#pragma once
// The difference between two texts, word by word. Words are equal if an index with this normalisation takes
// them for equal (standard: whatever their case and the form of their accents), and shown as written.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "insight/word_diff.h"
#include "text/shingler.h"

namespace doppel {

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

}  // namespace doppel
