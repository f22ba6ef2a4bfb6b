#pragma once
// The words of a text and their positions: a slow, obvious form of Shingler, to show words to people and to
// test Shingler against.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "text/shingler.h"

namespace doppel {

struct WordSpan {
  size_t begin;      // bytes [begin, end) of the original text; spans overlap if
  size_t end;        // a ligature or fraction belongs to two words
  std::string text;  // normalised
  // Whether its first (last) character holds a separator in front of (behind) the word, as in U+2488, "1.".
  bool apart_before = false, apart_after = false;
};

// Uses memory proportional to the text. The words, their order and their normalised bytes are exactly those
// that Shingler hashes with Normalisation::standard.
std::vector<WordSpan> split_words(std::string_view text);

struct WordPlace {
  size_t begin = 0, end = 0;  // like begin and end of WordSpan
  bool operator==(const WordPlace&) const = default;
};

// Returns the places of the words that Shingler hashes, in its order. Fast if most words are ASCII.
std::vector<WordPlace> word_places(std::string_view text, Normalisation normalisation);

}  // namespace doppel
