#pragma once
// What differs between two texts, word by word as doppel compares them (case, accents' forms, spacing and
// punctuation do not count), shown with the words as they were written.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "insight/word_diff.h"

namespace doppel {

// Word i of a text: bytes [begin, end), and a number that both texts share for equal words.
struct DiffWord {
  size_t begin = 0, end = 0;
  uint32_t word = 0;
};

struct TextDiff {  // views: both texts outlive it
  std::string_view a, b;
  std::vector<DiffWord> a_words, b_words;
  std::vector<DiffHunk> hunks;
  bool shortest = true;
  uint64_t equal = 0, removed = 0, added = 0;  // words
};

TextDiff diff_texts(std::string_view a, std::string_view b);

// The text of words [begin, end): from the first of them (or the text's start) up to the word after the last
// (or the text's end), so that consecutive ranges give the whole text back.
std::string_view text_of(std::string_view text, const std::vector<DiffWord>& words, size_t begin, size_t end);

// A difference made ready to be shown: long equal stretches are cut to `context` words at either side of
// a change.
enum class Mark { equal, removed, added, elided };
struct DiffPiece {
  Mark mark = Mark::equal;
  std::string_view a, b;  // equal, elided: both sides; removed: a; added: b
  size_t words = 0;
};
std::vector<DiffPiece> diff_pieces(const TextDiff& diff, size_t context);

// For reading: [-removed-]{+added+}, and with colour also red and struck through, green and underlined. What
// a terminal could mistake for a command is replaced.
std::string render_diff(const std::vector<DiffPiece>& pieces, bool colour);

}  // namespace doppel
