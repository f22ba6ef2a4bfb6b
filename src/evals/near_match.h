#pragma once
// Finds where a text has nearly the words of a pattern: with the fewest insertions, deletions and
// replacements of words. Works on bits, 64 words of the pattern at a time (Myers 1999).

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/bytes.h"

namespace doppel {

struct NearMatch {
  uint32_t begin = 0, end = 0;  // words of the text
  uint32_t edits = 0;           // edits that turn one into the other
  bool operator==(const NearMatch&) const = default;
};

// Use one for each thread.
class NearMatcher {
 public:
  // `pattern` has the hash of each word, and at least one word. It must outlive the searches.
  void set(std::span<const uint64_t> pattern);
  // Returns the place with the fewest edits, at most `most`. Of equal ones, takes the one that ends first,
  // and of these the shortest.
  std::optional<NearMatch> find(std::span<const uint64_t> text, uint32_t most);

 private:
  // The positions of each word in the pattern, or in the reversed pattern.
  struct Masks {
    PodVector<uint64_t> words;  // hash table of its distinct words; 0: free
    // `blocks` numbers for each slot of the table: a bit for each position of the word.
    PodVector<uint64_t> bits;
    size_t blocks = 0;
    void make(std::span<const uint64_t> pattern, bool reversed);
    const uint64_t* of(uint64_t word) const;
  };
  void start();
  // Adds one more word of the text. Returns how the distance changes.
  int step(const uint64_t* bits);

  std::span<const uint64_t> pattern_;
  Masks forward_, backward_;
  bool backward_made_ = false;
  PodVector<uint64_t> more_, less_;  // by word of the pattern: whether the distance grows or shrinks there
  PodVector<uint64_t> none_;
};

}  // namespace doppel
