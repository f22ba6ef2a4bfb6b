#pragma once
// Character k-shingles, the signature algorithm row by row, two families of hash functions, and bands
// chosen for a threshold: the parts of the study, as plain as there.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "lab/random.h"

namespace doppel::lab {

struct ShingleOptions {
  int k = 5;
  bool spaces = true;  // otherwise they are removed first; runs of white space count as one space
  bool lower_case = false;
};
using ShingleStrings = absl::flat_hash_set<std::string>;
// All runs of k characters (UTF-8 code points). A text shorter than k has none.
ShingleStrings k_shingles(std::string_view text, const ShingleOptions& options);
// |a and b| / |a or b|; 0 if both are empty.
double jaccard(const ShingleStrings& a, const ShingleStrings& b);

// Which documents have which shingle: one row per shingle of the union, in the order of first occurrence.
// (The study adds the second document's shingles "not contained in S1". It must be those not yet in the
// union.)
struct CharacteristicMatrix {
  std::vector<std::string> rows;
  std::vector<std::vector<uint32_t>> documents;  // by row: the documents that have it
  size_t columns = 0;
};
CharacteristicMatrix characteristic_matrix(const std::vector<ShingleStrings>& sets);
// h(S): the first row in this order that the document has.
uint32_t first_row(const CharacteristicMatrix& matrix, const std::vector<uint32_t>& order, uint32_t document);

// Robert Jenkins' mix of 96 bits into 32.
uint32_t mix(uint32_t a, uint32_t b, uint32_t c);

enum class HashFamily { modular, jenkins };
// n functions of a row number: (row p + m) mod z, where z is the number of rows and p a prime that does not
// divide it; or mix(p, m, row). p and m are drawn for each function.
struct RowFunctions {
  HashFamily family = HashFamily::modular;
  uint32_t z = 1;
  std::vector<std::pair<uint32_t, uint32_t>> p_m;

  uint32_t operator()(size_t i, uint32_t row) const {
    const auto [p, m] = p_m[i];
    if (family == HashFamily::jenkins) return mix(p, m, row);
    return static_cast<uint32_t>((uint64_t{row} * p + m) % z);
  }
};
RowFunctions draw_functions(HashFamily family, int n, size_t rows, Random& random);

// [document][function]. Computes each function once per row, and takes the minimum in all documents that
// have the row.
std::vector<std::vector<uint32_t>> signatures(const CharacteristicMatrix& matrix,
                                              const RowFunctions& functions);
// The share of equal values among the first n.
double estimate(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b, size_t n);

// The divisor b of n that minimises |(1/b)^(b/n) - threshold|; the smallest one of equals.
int bands_for(int n, double threshold);
double reached_threshold(int n, int bands);
// The pairs of documents that agree in all rows of a band.
std::vector<std::pair<uint32_t, uint32_t>> band_candidates(
    const std::vector<std::vector<uint32_t>>& signatures, int bands);

// Text of generated words with the mean length of the study's documents, 5.84 letters.
class Prose {
 public:
  explicit Prose(uint64_t seed);
  std::string word(Random& random) const;
  std::vector<std::string> words(size_t count, Random& random) const;

 private:
  std::vector<std::string> vocabulary_;
};
std::string joined(const std::vector<std::string>& words);

}  // namespace doppel::lab
