#pragma once
// The edits by which copies differ from their origins.

#include <string>
#include <string_view>

#include "oracle/language.h"

namespace doppel::oracle {

// Each function changes `units` in place.

// Replaces, inserts or removes words until about `jaccard` of the 5-word shingles stay common.
void edit_words(Language language, double jaccard, Random& random, Units& units);
void move_sentences(Random& random, Units& units);
void change_numbers(Random& random, Units& units);
void add_boilerplate(Language language, Random& random, Units& units);
void truncate(double keep, Units& units);

// Changes bytes but not words: normal forms, case, full-width letters, kinds of spaces, dashes and quotes,
// invisible characters. `random` chooses.
std::string restyle(std::string_view text, Random& random);

}  // namespace doppel::oracle
