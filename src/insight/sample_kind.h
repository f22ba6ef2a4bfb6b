#pragma once
// What kind of documents a sample holds, as far as settings depend on it: short texts, pages, scanned texts.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace doppel {

struct SampleKind {
  uint64_t documents = 0;
  uint64_t words = 0;  // of the document in the middle, by its number of words
  double pages = 0;    // share of documents
  // Share of words that are rare and differ by one letter from a frequent word. Scanning misreads letters;
  // people write few such words.
  double misread = 0;
};

class SampleKindCounter {
 public:
  // Counts at most so many distinct words; further ones are left out.
  explicit SampleKindCounter(size_t words_max = 1'000'000) : words_max_(words_max) {}
  void add(std::string_view text, bool page);
  SampleKind finish() const;

 private:
  double misread() const;

  const size_t words_max_;
  uint64_t pages_ = 0;
  std::vector<uint32_t> sizes_;  // words of each document
  absl::flat_hash_map<std::string, uint32_t> counts_;
};

}  // namespace doppel
