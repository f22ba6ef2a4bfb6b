#pragma once
// DuplicateFinder, step by step: all pairs of articles whose sets of words are more similar than a threshold,
// first as anyone would write it, then with integers, with MinHash, with LSH.
//
// Every finder's constructor does what is done once per article; findDuplicates(threshold) returns the pairs
// whose similarity is strictly higher, ascending.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "lab/random.h"

namespace doppel::lab {

struct Articles {
  std::vector<std::string> ids;
  std::vector<std::vector<std::string>> words;  // in the order of the text, repeats included
  size_t size() const { return ids.size(); }
};
using Pair = std::pair<uint32_t, uint32_t>;  // numbers of articles, the smaller first

// Lines of `id word word ...`. An error names file and line: no words, an id that was there before.
absl::StatusOr<Articles> readData(const std::string& path);
// Lines of `id id`. An error names file and line: not two ids, an id that no article has.
absl::StatusOr<std::vector<Pair>> readGroundTruth(const std::string& path, const Articles& articles);

// Articles like the given ones with `pairs` planted pairs, whose similarity is uniform in [low, high].
struct MadeArticles {
  Articles articles;
  std::vector<Pair> planted;
};
MadeArticles make_articles(size_t count, size_t pairs, double low, double high, uint64_t seed);

// The value of Java's String.hashCode, of UTF-8 bytes taken as characters.
uint32_t java_hash_code(std::string_view word);

// Step 1: sets of words.
class WordSetFinder {
 public:
  explicit WordSetFinder(const Articles& articles);
  std::vector<Pair> findDuplicates(double threshold) const;

 private:
  std::vector<absl::flat_hash_set<std::string>> sets_;
};

// Step 2: sorted integers instead of words: own numbers from a hash table, or hash codes.
enum class Encoding { own_ids, hash_codes };
struct IntegerSets {
  std::vector<std::vector<uint32_t>> sets;  // ascending
  uint32_t largest = 0;
};
IntegerSets integer_sets(const Articles& articles, Encoding encoding);
double jaccard(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b);

class IntegerFinder {
 public:
  explicit IntegerFinder(const IntegerSets& sets) : sets_(sets) {}
  std::vector<Pair> findDuplicates(double threshold) const;

 private:
  const IntegerSets& sets_;
};

// Step 3: k functions (a x + b) % c; an article keeps, for each, the element with the lowest value.
struct LinearHash {
  uint64_t a = 1, b = 0, c = 2;
  uint64_t operator()(uint32_t x) const { return (a * x + b) % c; }
};
// a and b below the largest element, c the smallest prime above it (for hash codes 4,294,967,311).
std::vector<LinearHash> draw_hashes(int k, const IntegerSets& sets, Encoding encoding, Random& random);
std::vector<uint32_t> lowest_elements(const std::vector<uint32_t>& set,
                                      const std::vector<LinearHash>& hashes);
// y / k: the share of functions that chose the same element.
double estimated(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b);

class MinHashFinder {
 public:
  MinHashFinder(const IntegerSets& sets, const std::vector<LinearHash>& hashes);
  // The one with the first k functions only.
  MinHashFinder first(int k) const;
  std::vector<Pair> findDuplicates(double threshold) const;
  const std::vector<std::vector<uint32_t>>& signatures() const { return signatures_; }

 private:
  MinHashFinder() = default;
  std::vector<std::vector<uint32_t>> signatures_;
};

// Step 4: bands of a signature, hashed by Horner's rule into a fixed number of buckets, other buckets for
// each band.
struct LshFinderOptions {
  int bands = 20;
  uint64_t buckets = 100'000;
  const IntegerSets* verify = nullptr;  // compare candidates by their sets instead of y/k
};
class LshFinder {
 public:
  LshFinder(const std::vector<std::vector<uint32_t>>& signatures, const LshFinderOptions& options);
  std::vector<Pair> findDuplicates(double threshold) const;
  const std::vector<Pair>& candidates() const { return candidates_; }

 private:
  const std::vector<std::vector<uint32_t>>& signatures_;
  LshFinderOptions options_;
  std::vector<Pair> candidates_;
};

// The chance that a pair of similarity j is reported by MinHash of k functions at a threshold: X/k >
// threshold; by LSH with b bands and a number of buckets: that, and a bucket in common.
double chance_minhash(double j, int k, double threshold);
double chance_lsh(double j, int k, int bands, uint64_t buckets, double threshold);

}  // namespace doppel::lab
