#pragma once
// Documents for experiments: read from the user's files, or made.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "lab/random.h"

namespace doppel::lab {

struct Collection {
  std::vector<std::string> names, texts;
  size_t size() const { return names.size(); }
};

// Every file of the folder and the folders in it, in the order of their names. An error: no folder, no files
// in it, a file that is not text (FILE:LINE says where).
absl::StatusOr<Collection> read_folder(const std::string& folder);
// One file of the user's as text.
absl::StatusOr<std::string> read_text_file(const std::string& path);
absl::Status write_folder(const Collection& collection, const std::string& folder);

// A word of at least four letters for every number; different numbers, different words.
std::string made_word(uint64_t number);

// Words as often as they occur in a text: the n-th with a chance of about 1/(n + shift)^exponent.
class Vocabulary {
 public:
  Vocabulary(size_t words, double exponent, double shift);
  size_t size() const { return cumulative_.size(); }
  uint32_t draw(Random& random) const;

 private:
  std::vector<double> cumulative_;
};

// What the MinHash study's documents were like: news of one group, 187 distinct terms on average, and two of
// them share about an eighth of their terms.
struct NewsShape {
  size_t documents = 1001;
  double mean_terms = 187;
  size_t vocabulary = 20000;
  double exponent = 1.2;
  double shift = 10;
};
Collection make_news(const NewsShape& shape, uint64_t seed);

// How similar a near-copy is to its original: exactly what is drawn, as far as whole terms allow.
struct CopyShape {
  bool normal = false;      // else uniform
  double a = .95, b = .97;  // from and to; or mean and deviation
};
// `copies` near-copies of each document, named ORIGINAL.copy1, .copy2, ... behind their original.
Collection with_near_copies(const Collection& originals, int copies, const CopyShape& shape, uint64_t seed);

}  // namespace doppel::lab
