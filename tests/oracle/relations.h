#pragma once
// Relations between texts in their plainest form: uncompressed sets of word n-grams, a complete comparison
// with every original that shares one, and an exact count for each n-gram. An n-gram that `common_after`
// originals have does not count.

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace doppel::oracle {

struct RelationsOptions {
  size_t shingle_words = 5;  // at most 8
  uint32_t common_after = 20;
};

// The part that a text shares with one original.
struct Shared {
  size_t original = 0;  // by the order of add()
  uint64_t shared = 0;
  uint64_t of_document = 0,
           of_original = 0;  // n-grams that are not common; of the original: as the text knows
  uint64_t longest = 0;      // words of the longest run that both have, without a common n-gram
  uint64_t common = 0;       // n-grams of the document that are common
  double contained() const { return ratio(of_document); }
  double contains() const { return ratio(of_original); }

 private:
  double ratio(uint64_t size) const {
    return size == 0 ? 0 : static_cast<double>(shared) / static_cast<double>(size);
  }
};

class Relations {
 public:
  explicit Relations(const RelationsOptions& options) : options_(options) {}

  // Returns all originals that share something that is not common, in their order.
  std::vector<Shared> compare(std::string_view text);
  void add(std::string_view text);

 private:
  using Shingle = std::array<uint32_t, 8>;
  std::vector<uint32_t> shingles_of(std::string_view text);  // in the order of the text

  RelationsOptions options_;
  absl::flat_hash_map<std::string, uint32_t> words_;
  absl::flat_hash_map<Shingle, uint32_t> numbers_;
  std::vector<std::vector<uint32_t>> holders_;  // by number of the n-gram: originals, ascending
  std::vector<uint64_t> sizes_;                 // of originals
};

}  // namespace doppel::oracle
