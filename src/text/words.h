#pragma once
// The words of a text and their places in it: the slow, obvious form of what Shingler does, for
// people who want to see it, and for the tests to hold Shingler against.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace doppel {

struct WordSpan {
  size_t begin;      // bytes [begin, end) of the original text; a ligature or a fraction can belong to
  size_t end;        // two words, then both spans hold it
  std::string text;  // normalised
};

// Takes memory in proportion to the text. Words, their order and their normalised bytes are exactly
// those that Shingler hashes.
std::vector<WordSpan> split_words(std::string_view text);

}  // namespace doppel
