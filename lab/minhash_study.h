#pragma once
// The MinHash study by its own names: MinHash over the terms of a folder's documents, its accuracy and
// time, LSH, and near-duplicates. The code is as plain as the study; seeds and errors are added.
//
// A permutation is ((a x + b) & 0x7fffffff) mod p in 32-bit arithmetic that wraps, as in Java: x is a
// term's number, p the smallest prime not below the number of terms. Above p = 46,340 the product wraps,
// and the function is no longer a permutation. Arithmetic::wide computes in 64 bits.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "lab/collection.h"

namespace doppel::lab {

enum class Arithmetic { wrapping, wide };

class PermutationsFunctions {
 public:
  // Draws distinct a in [1, p) and distinct b in [0, p). It is an error if there are too few values.
  static absl::StatusOr<PermutationsFunctions> create(int numPermutations, uint64_t numTerms, uint64_t seed,
                                                      Arithmetic arithmetic = Arithmetic::wrapping);
  int size() const { return static_cast<int>(a_.size()); }
  uint32_t p() const { return p_; }
  uint32_t a(int i) const { return a_[static_cast<size_t>(i)]; }
  uint32_t b(int i) const { return b_[static_cast<size_t>(i)]; }

  uint32_t apply(int i, uint32_t x) const {
    const uint32_t a = a_[static_cast<size_t>(i)];
    const uint32_t b = b_[static_cast<size_t>(i)];
    if (arithmetic_ == Arithmetic::wide) return static_cast<uint32_t>((uint64_t{a} * x + b) % p_);
    return ((a * x + b) & 0x7fffffff) % p_;
  }

 private:
  std::vector<uint32_t> a_, b_;
  uint32_t p_ = 2;
  Arithmetic arithmetic_ = Arithmetic::wrapping;
};

// One row per document, one slot per permutation.
struct MinHashMatrix {
  size_t documents = 0, permutations = 0;
  std::vector<uint32_t> slots;
  std::span<const uint32_t> row(size_t d) const { return {slots.data() + d * permutations, permutations}; }
};

struct MinHashOptions {
  uint64_t seed = 1;
  Arithmetic arithmetic = Arithmetic::wrapping;
  int threads = 1;
};

class MinHash {
 public:
  static absl::StatusOr<MinHash> create(const std::string& folder, int numPermutations,
                                        const MinHashOptions& options = {});
  static absl::StatusOr<MinHash> create(const Collection& documents, int numPermutations,
                                        const MinHashOptions& options = {});

  const std::vector<std::string>& allDocs() const { return names_; }
  // By name; it is an error if there is no such document. A document without terms has similarity 0 to all
  // others.
  absl::StatusOr<double> exactJaccard(std::string_view file1, std::string_view file2) const;
  absl::StatusOr<std::vector<uint32_t>> minHashSig(std::string_view file) const;
  absl::StatusOr<double> approximateJaccard(std::string_view file1, std::string_view file2) const;
  MinHashMatrix minHashMatrix() const;
  size_t numTerms() const { return terms_.size(); }
  int numPermutations() const { return permutations_.size(); }

  // The words in the order of the text, in lower case and without . , : ; ' - leaves out "the" and words
  // shorter than three letters.
  static std::vector<std::string> wordsProcessor(std::string_view text);
  // [document][term]: 1 if the document has the term.
  std::vector<std::vector<uint8_t>> buildBinaryTermFrequencyAllDocs() const;
  uint32_t minHashTerm(uint32_t item, int permutation) const {
    return permutations_.apply(permutation, item);
  }

  // The same documents with other permutations.
  absl::StatusOr<MinHash> again(int numPermutations, const MinHashOptions& options) const;
  const PermutationsFunctions& permutations() const { return permutations_; }
  const std::vector<std::string>& terms() const { return terms_; }                 // by number
  const std::vector<uint32_t>& terms_of(size_t d) const { return documents_[d]; }  // ascending numbers
  double exact(size_t d1, size_t d2) const;
  absl::StatusOr<size_t> find(std::string_view name) const;
  std::vector<uint32_t> signature(size_t d) const;

 private:
  std::vector<std::string> names_, terms_;
  absl::flat_hash_map<std::string, size_t> by_name_;
  std::vector<std::vector<uint32_t>> documents_;
  PermutationsFunctions permutations_;
  int threads_ = 1;
};

// The share of equal slots.
double approximate(std::span<const uint32_t> a, std::span<const uint32_t> b);

struct MinHashAccuracy {
  // How many pairs of documents have an estimate that is off by more than `error`.
  static absl::StatusOr<uint64_t> accuracy(const std::string& folder, int numPermutations, double error,
                                           const MinHashOptions& options = {});
};

struct MinHashTime {
  struct Timing {
    uint64_t exact_comparisons = 0;      // calls of `contains`
    uint64_t estimated_comparisons = 0;  // slots
    double exact_seconds = 0, matrix_seconds = 0, estimated_seconds = 0;
  };
  static absl::StatusOr<Timing> timer(const std::string& folder, int numPermutations,
                                      const MinHashOptions& options = {});
  static Timing timer(const MinHash& documents);
};

struct LshOptions {
  uint64_t seed = 1;
  bool one_tuple = true;      // one tuple of r pairs (a, b) for all bands, as in the study; else one per band
  bool wide_buckets = false;  // 2^32 buckets by a real hash, instead of about N
};

class LSH {
 public:
  // It is an error if the bands do not divide the permutations; the message names the nearest divisors.
  static absl::StatusOr<LSH> create(const MinHashMatrix& minHashMatrix,
                                    const std::vector<std::string>& docNames, int bands,
                                    const LshOptions& options = {});
  // All documents that share a bucket with this one in any band, without itself; ascending.
  absl::StatusOr<std::vector<std::string>> nearDuplicatesOf(std::string_view docName) const;
  std::vector<uint32_t> near_duplicates_of(size_t d) const;
  int bands() const { return static_cast<int>(tables_.size()); }
  int rows() const { return rows_; }
  uint64_t buckets() const { return buckets_; }

 private:
  struct Band {
    std::vector<uint32_t> bucket_of;                       // by document
    std::vector<std::pair<uint32_t, uint32_t>> documents;  // (bucket, document), ascending
  };
  absl::Status localitySensitiveHashing(const MinHashMatrix& matrix, const LshOptions& options);

  std::vector<std::string> names_;
  int rows_ = 0;
  uint64_t buckets_ = 0;
  std::vector<Band> tables_;
};

struct NearDuplicates {
  struct Found {
    std::vector<std::string> documents;  // candidates that are estimated at or above s
    std::vector<std::string> removed;    // candidates that are estimated below s
  };
  static absl::StatusOr<Found> nearDuplicateDetector(const std::string& folder, int numPermutations,
                                                     int numBands, double s, const std::string& docName,
                                                     const MinHashOptions& options = {});
  // The candidates that are estimated below s.
  static std::vector<uint32_t> getLessThanThresholdDocs(const MinHashMatrix& matrix,
                                                        const std::vector<uint32_t>& candidates,
                                                        size_t document, double s);
};

}  // namespace doppel::lab
