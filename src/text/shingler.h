#pragma once
// Text in, shingle hashes out: the whole text stage in one small class.
//
// Decodes the bytes as UTF-8 (invalid ones become U+FFFD, a separator), decomposes them for compatibility,
// folds case and brings marks into canonical order (normaliser version 1). Then cuts the text into words and
// hashes each run of `words` consecutive words to 64 bits. A shingle never exists as a string.
//
// A document may arrive in any number of pieces, cut anywhere, even inside a UTF-8 sequence or a word: the
// hashes are the same.

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/bytes.h"
#include "text/hash_key.h"

namespace doppel {

// When two words are equal. Each value has its own version; signatures of different values cannot be
// compared.
enum class Normalisation : uint8_t {
  standard,  // compatibility decomposition, case folding, canonical order
  loose,     // also replaces every digit with 0, drops marks of Latin, Greek and Cyrillic letters, and makes
             // one word of 1,000.5 and of U.S.
  none,      // bytes as they are; words are runs of ASCII letters, digits, underscores and bytes above 127
};
// The name in the data scheme: "1", "loose-2", "none-1".
std::string_view normalisation_name(Normalisation normalisation);

class Shingler {
 public:
  // words: the number of consecutive words in a shingle, 1 to 64.
  Shingler(const HashKey& key, int words, Normalisation normalisation = Normalisation::standard);
  ~Shingler();
  Shingler(Shingler&&) noexcept;
  Shingler& operator=(Shingler&&) noexcept;

  // Appends to `out` the hash of every complete shingle, in text order, with repeats. The Shingler's own
  // memory does not grow with the document.
  void update(std::string_view piece, PodVector<uint64_t>& out);

  // Ends the document: appends the remaining shingles and resets for the next document.
  void finish(PodVector<uint64_t>& out);

  // The number of words in the document so far; after finish(), in the document that just ended.
  uint64_t words_seen() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Signatures also depend on this; it is part of the data scheme.
inline constexpr std::string_view kUnicodeVersion = "15.0";

}  // namespace doppel
