#pragma once
// Made-up text that behaves like real text. Each language has a Zipf vocabulary, with a head of real words
// and a tail built from their syllables, in sentences with names, numbers, dates, quotes and stock phrases.

#include <string>
#include <string_view>
#include <vector>

#include "oracle/random.h"

namespace doppel::oracle {

enum class Language {
  english,
  french,
  german,
  vietnamese,
  russian,
  greek,
  arabic,
  hindi,
  korean,
  chinese,
  japanese,
  thai
};
inline constexpr int kLanguages = 12;

// A text is a list of units: words with the punctuation that touches them, or single characters in languages
// without spaces. Edits work on units; a unit that ends with a line feed ends a paragraph.
using Units = std::vector<std::string>;

bool spaced(Language language);

// A unit without punctuation: a word or a character.
const std::string& random_word(Language language, Random& random);

// Appends sentences until there are at least `count` units, then cuts the last sentence there.
void write_text(Language language, size_t count, Random& random, Units& out);

std::string join(Language language, const Units& units);
// The reverse of join().
Units split(Language language, std::string_view text);

}  // namespace doppel::oracle
