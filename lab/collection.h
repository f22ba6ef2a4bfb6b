#pragma once
// Documents for experiments: read from the user's files, or generated.

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

// Reads all files of the folder and its subfolders, in the order of their names. It is an error if there is
// no folder, it has no files, or a file is not text (FILE:LINE says where).
absl::StatusOr<Collection> read_folder(const std::string& folder);
// Reads one file, which must be text.
absl::StatusOr<std::string> read_text_file(const std::string& path);
absl::Status write_folder(const Collection& collection, const std::string& folder);

// A word of at least four letters for each number; different numbers give different words.
std::string made_word(uint64_t number);

// Draws words with their frequencies in a text: the n-th with a probability of about 1/(n +
// shift)^exponent.
class Vocabulary {
 public:
  Vocabulary(size_t words, double exponent, double shift);
  size_t size() const { return cumulative_.size(); }
  uint32_t draw(Random& random) const;

 private:
  std::vector<double> cumulative_;
};

// The shape of the MinHash study's documents: news of one group, 187 distinct terms on average; two of them
// share about an eighth of their terms.
struct NewsShape {
  size_t documents = 1001;
  double mean_terms = 187;
  size_t vocabulary = 20000;
  double exponent = 1.2;
  double shift = 10;
};
Collection make_news(const NewsShape& shape, uint64_t seed);

// The similarity of a near-copy to its original: exactly the drawn value, as far as whole terms allow.
struct CopyShape {
  bool normal = false;      // otherwise uniform
  double a = .95, b = .97;  // bounds, or mean and deviation
};
// Adds `copies` near-copies behind each document, named ORIGINAL.copy1, ORIGINAL.copy2 and so on.
Collection with_near_copies(const Collection& originals, int copies, const CopyShape& shape, uint64_t seed);

}  // namespace doppel::lab
