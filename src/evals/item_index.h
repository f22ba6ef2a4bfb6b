#pragma once
// Texts that are short beside the documents in which they are looked for: the items of a benchmark. A text
// with all its words, or nearly all of them, close together and in their order, is found wherever it stands.
//
// Three consecutive words of an item that a document has too propose a place; how many of them there must be
// follows from how many words may be changed. What is left is compared word by word (near_match.h).
//
// What many items begin or end with (a prompt) says nothing: an item is what it has besides.

#include <cstdint>
#include <span>
#include <vector>

#include "base/pod_vector.h"
#include "evals/near_match.h"

namespace doppel {

struct ItemRule {
  uint32_t changed_ppm = 340'000;  // of the words of an item, that may be changed: about a third
  uint32_t least_words = 5;        // shorter ones are not looked for
  uint32_t common_after = 20;      // items that have three words in common: these say nothing
};

struct ItemMatch {
  uint32_t item = 0;            // in the order in which they were added
  uint32_t begin = 0, end = 0;  // words of the document
  uint32_t words = 0;           // of the item that were looked for
  uint32_t edits = 0;           // words put in, left out or replaced
  bool operator==(const ItemMatch&) const = default;
};

class ItemIndex {
 public:
  explicit ItemIndex(const ItemRule& rule) : rule_(rule) {}

  // The hashes of its words, in order, and how long each is in letters (or bytes); none: all are of equal
  // length. False: it has too few words, and will not be found.
  bool add(std::span<const uint64_t> words, std::span<const uint32_t> lengths = {});
  // No more come.
  void finish();
  uint32_t items() const { return items_; }

  // For one thread each; the index outlives them.
  class Finder {
   public:
    explicit Finder(const ItemIndex& index) : index_(index) {}
    // Items that are in a document with these words, ascending; each once, where it is nearest.
    void find(std::span<const uint64_t> words, std::vector<ItemMatch>& out);

   private:
    struct Hit {
      uint32_t pattern;
      int32_t start;  // where the pattern would begin in the document
    };
    void find_pattern(std::span<const uint64_t> words, std::span<const Hit> hits,
                      std::vector<ItemMatch>& out);

    const ItemIndex& index_;
    PodVector<Hit> hits_;
    NearMatcher matcher_;
  };

 private:
  struct Pattern {  // what is looked for of one or several items
    size_t begin = 0;
    uint32_t size = 0;
    uint32_t most = 0;    // edits
    uint32_t needed = 0;  // places with three words, at least
    uint32_t items_begin = 0, items_end = 0;
  };
  struct Place {
    uint32_t pattern, position;
  };
  struct Listing {
    uint64_t gram = 0;
    uint32_t begin = 0, end = 0;  // places
  };

  std::span<const uint64_t> words_of(const Pattern& pattern) const {
    return {words_.data() + pattern.begin, pattern.size};
  }
  void merge_equal();
  bool says_enough(const Pattern& pattern, std::span<const uint64_t> part) const;
  void list_grams();
  const Listing* listing(uint64_t gram) const;

  ItemRule rule_;
  uint32_t items_ = 0;
  PodVector<uint64_t> words_;
  std::vector<uint32_t> lengths_;
  std::vector<Pattern> patterns_;
  std::vector<uint32_t> pattern_items_;
  std::vector<Place> places_;
  std::vector<Listing> table_;
  PodVector<uint64_t> seen_;  // bits: a gram that is not there is mostly seen here
};

}  // namespace doppel
