#pragma once
// Finds the items of a benchmark, which are short, in documents, which are long. Finds an item wherever all
// of its words, or nearly all, stand close together and in order.
//
// Three consecutive words (a gram) that an item and a document share propose a place. How many grams an item
// needs there follows from how many of its words may be changed. The places that remain are compared word by
// word (NearMatcher).
//
// A beginning or an end that many items share (a prompt) says nothing, so it is not searched for. Nor is an
// item that has nothing else, or only a few words that most texts have ("Which of the following is true?").

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "text/shingler.h"

namespace doppel {

// Finds where a text has nearly the words of a pattern: with the fewest insertions, deletions and
// replacements of words. Works on bits, 64 words of the pattern at a time (Myers 1999).
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

struct ItemRule {
  uint32_t changed_ppm = 340'000;  // share of an item's words that may be changed: about a third
  uint32_t least_words = 5;        // shorter items are not searched for
  uint32_t common_after = 20;      // a gram that this many items have says nothing
};

struct ItemMatch {
  uint32_t item = 0;            // its number, in the order of add()
  uint32_t begin = 0, end = 0;  // words of the document
  uint32_t words = 0;           // words of the item that were searched for
  uint32_t edits = 0;           // words inserted, deleted or replaced
  bool operator==(const ItemMatch&) const = default;
};

class ItemIndex {
 public:
  explicit ItemIndex(const ItemRule& rule) : rule_(rule) {}

  // Adds an item: the hashes of its words, in order, and their lengths in letters (or bytes); without
  // lengths, all words count alike. Returns false if it has too few words: it will not be found.
  bool add(std::span<const uint64_t> words, std::span<const uint32_t> lengths = {});
  // Call it after the last add(), before any search. Returns the items of which many others have all grams:
  // they will not be found.
  std::vector<uint32_t> finish();
  uint32_t items() const { return items_; }

  // Searches documents. Use one for each thread. The index must outlive it.
  class Finder {
   public:
    explicit Finder(const ItemIndex& index) : index_(index) {}
    // Finds the items in a document with these words, in ascending order; each once, where it is nearest.
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
  struct Pattern {  // the words to search for, of one item or of several equal ones
    size_t begin = 0;
    uint32_t size = 0;
    uint32_t most = 0;    // most edits
    uint32_t needed = 0;  // least number of grams at one place
    uint32_t items_begin = 0, items_end = 0;
  };
  struct Place {
    uint32_t pattern, position;
  };
  struct Listing {
    uint64_t gram = 0;
    uint32_t begin = 0, end = 0;  // range of places_
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
  PodVector<uint64_t> seen_;  // filter: most grams that no item has are missing here
};

// The items of evaluations, which training data must not contain. Reads them from any kind of file with
// records: JSON lines, Parquet, Arrow.
struct ItemFields {  // lists: the first field that exists and is not null counts
  std::vector<std::string> question{"question", "query", "prompt", "problem", "instruction", "input", "text"};
  std::vector<std::string> answer{"answer", "solution", "target", "output", "completion", "response"};
  std::vector<std::string> id{"id", "task_id", "question_id", "_id"};
};

struct Item {
  std::string id;  // as the record states it, else its place
  std::string file;
  std::string question, answer;  // the answer is empty if it is not a text
  bool with_answer = false;      // the question is so short that both are searched for together
};

// A shorter question is searched for together with its answer.
inline constexpr uint32_t kQuestionWordsLeast = 5;

struct Items {
  std::vector<Item> items;
  ItemIndex index{ItemRule{}};
  // What is not searched for, ascending: items that are too short, even with their answers, and items of
  // words that many items or most texts have.
  std::vector<uint32_t> too_short, common;
  uint64_t rejected = 0;  // records without a question, and files that could not be read
};

// `report` receives a message about each wrong record or file. InvalidArgument, NotFound: there is nothing to
// read.
absl::StatusOr<Items> read_items(const std::vector<std::string>& paths, const ItemFields& fields,
                                 const ItemRule& rule, const std::function<void(const std::string&)>& report);

// Hashes the words of a text, in order. Use one for each thread.
class WordHasher {
 public:
  WordHasher();
  void hash(std::string_view text, PodVector<uint64_t>& out);

 private:
  Shingler shingler_;
};

}  // namespace doppel
