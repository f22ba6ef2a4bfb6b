#pragma once
// DuplicateFinder, step by step: finds all pairs of articles whose sets of words are more similar than a
// threshold. First the obvious way, then with integers, MinHash and LSH.
//
// The constructor of each finder does the work per article. findDuplicates(threshold) returns the pairs
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
  std::vector<std::vector<std::string>> words;  // in the order of the text, with repeats
  size_t size() const { return ids.size(); }
};
using Pair = std::pair<uint32_t, uint32_t>;  // numbers of articles, the smaller first

// Reads lines of `id word word ...`. Errors name file and line: a line has no words, or its id was used
// before.
absl::StatusOr<Articles> readData(const std::string& path);
// Reads lines of `id id`. Errors name file and line: there are not two ids, or no article has the id.
absl::StatusOr<std::vector<Pair>> readGroundTruth(const std::string& path, const Articles& articles);

// Generated articles with `pairs` planted pairs, whose similarity is uniform in [low, high].
struct MadeArticles {
  Articles articles;
  std::vector<Pair> planted;
};
MadeArticles make_articles(size_t count, size_t pairs, double low, double high, uint64_t seed);

// The value of Java's String.hashCode; UTF-8 bytes count as characters.
uint32_t java_hash_code(std::string_view word);

// Step 1: compares sets of words.
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

// Step 3: k functions (a x + b) % c. For each function, an article keeps the element with the lowest value.
struct LinearHash {
  uint64_t a = 1, b = 0, c = 2;
  uint64_t operator()(uint32_t x) const { return (a * x + b) % c; }
};
// Draws a and b below the largest element; c is the smallest prime above it (4,294,967,311 for hash codes).
std::vector<LinearHash> draw_hashes(int k, const IntegerSets& sets, Encoding encoding, Random& random);
std::vector<uint32_t> lowest_elements(const std::vector<uint32_t>& set,
                                      const std::vector<LinearHash>& hashes);
// The share of functions that chose the same element.
double estimated(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b);

class MinHashFinder {
 public:
  MinHashFinder(const IntegerSets& sets, const std::vector<LinearHash>& hashes);
  // The finder with the first k functions only.
  MinHashFinder first(int k) const;
  std::vector<Pair> findDuplicates(double threshold) const;
  const std::vector<std::vector<uint32_t>>& signatures() const { return signatures_; }

 private:
  MinHashFinder() = default;
  std::vector<std::vector<uint32_t>> signatures_;
};

// Step 4: hashes the bands of a signature by Horner's rule into a fixed number of buckets. Each band has
// its own buckets.
struct LshFinderOptions {
  int bands = 20;
  uint64_t buckets = 100'000;
  const IntegerSets* verify = nullptr;  // compares candidates by their sets instead of the estimate
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

// The probability that a pair of similarity j is reported: by MinHash of k functions if X/k > threshold; by
// LSH with b bands, if it also shares a bucket.
double chance_minhash(double j, int k, double threshold);
double chance_lsh(double j, int k, int bands, uint64_t buckets, double threshold);

}  // namespace doppel::lab
