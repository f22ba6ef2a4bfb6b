#pragma once
// The word rule in its slowest and plainest form, by ICU. src/text must agree with it.
//
// Text that is not UTF-8 becomes U+FFFD, a separator. Default ignorable code points are dropped. The rest is
// decomposed for compatibility and case-folded until nothing changes. Words are the maximal runs of letters
// (L*), marks (M*), numbers (N*) and underscore; in Han, Hiragana, Katakana, Thai, Lao, Khmer and Myanmar
// each letter or number with the marks that follow it is a word.

#include <string>
#include <string_view>
#include <vector>

namespace doppel::oracle {

std::vector<std::string> words(std::string_view text);

}  // namespace doppel::oracle
