#pragma once
// Text in, shingle hashes out: the whole of the text stage behind one small class.
//
// Bytes are decoded as UTF-8 (invalid ones become U+FFFD, a separator), decomposed for
// compatibility, case-folded and put into canonical order (normaliser version 1), cut into words, and
// every run of `words` consecutive words becomes one 64-bit hash. A shingle never exists as a string.
//
// A document may arrive in any number of pieces, cut anywhere, also inside a UTF-8 sequence, a word or
// a shingle: the hashes that come out are the same.

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/pod_vector.h"
#include "text/hash_key.h"

namespace doppel {

// What makes words equal. Each has a version of its own; changing one makes signatures that do not compare.
enum class Normalisation : uint8_t {
  standard,  // compatibility decomposition, case folding, canonical order
  loose,     // the same, then every digit is 0 and marks of Latin, Greek and Cyrillic letters are dropped
  none,      // bytes as they are; words are runs of ASCII letters, digits, underscores, and bytes above 127
};
// For the data scheme: "1", "loose-1", "none-1".
std::string_view normalisation_name(Normalisation normalisation);

class Shingler {
 public:
  // words: how many consecutive words make a shingle, 1 to 64.
  Shingler(const HashKey& key, int words, Normalisation normalisation = Normalisation::standard);
  ~Shingler();
  Shingler(Shingler&&) noexcept;
  Shingler& operator=(Shingler&&) noexcept;

  // Appends to `out` the hash of every shingle that is complete, in the order of the text, repeats
  // included. Memory used here does not grow with the document.
  void update(std::string_view piece, PodVector<uint64_t>& out);

  // The document ends here: appends what was still open and makes ready for the next document.
  void finish(PodVector<uint64_t>& out);

  // Words of the document so far (after finish(): of the document that just ended).
  uint64_t words_seen() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// What signatures depend on besides; part of the data scheme.
inline constexpr std::string_view kUnicodeVersion = "15.0";

}  // namespace doppel
