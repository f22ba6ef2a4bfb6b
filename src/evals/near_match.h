#pragma once
// Where a text has nearly the words of a pattern: with the fewest words that are put in, left out or
// replaced. By bits, 64 words of the pattern at a time (Myers 1999).

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/pod_vector.h"

namespace doppel {

struct NearMatch {
  uint32_t begin = 0, end = 0;  // words of the text
  uint32_t edits = 0;           // between them and the pattern
  bool operator==(const NearMatch&) const = default;
};

// For one thread.
class NearMatcher {
 public:
  // Words are told apart by their hashes. The pattern has one word at least.
  void set(std::span<const uint64_t> pattern);
  // The place with the fewest edits, `most` of them at most; of equal ones the first that ends, and the
  // shortest of these.
  std::optional<NearMatch> find(std::span<const uint64_t> text, uint32_t most);

 private:
  // The pattern, or the pattern from its end on.
  struct Masks {
    PodVector<uint64_t> words;  // a table of the different ones; 0 where there is none
    PodVector<uint64_t> bits;   // of each place of the table: where the word is, `blocks` numbers
    size_t blocks = 0;
    void make(std::span<const uint64_t> pattern, bool reversed);
    const uint64_t* of(uint64_t word) const;
  };
  void start();
  // How the distance changes with one more word of the text.
  int step(const uint64_t* bits);

  std::span<const uint64_t> pattern_;
  Masks forward_, backward_;
  bool backward_made_ = false;
  PodVector<uint64_t> more_, less_;  // by word of the pattern: whether the distance grows there, or shrinks
  PodVector<uint64_t> none_;
};

}  // namespace doppel
