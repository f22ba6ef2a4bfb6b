#pragma once
// Documents in, verdicts out, in memory.
//
//   auto detector = doppel::Detector::create({.threshold = 0.8}).value();
//   for (const auto& page : pages) {
//     doppel::Judgement j = detector->insert({.id = page.id, .text = page.text});
//     if (j.verdict == doppel::Verdict::duplicate) std::cout << page.id << " repeats " << j.duplicate_of <<
//     '\n';
//   }

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "doppel/document.h"
#include "doppel/verdict.h"

namespace doppel {

struct DetectorOptions {
  double threshold = 0.8;
  double recall = 0.995;  // probability that a pair at the threshold meets in the index
  int num_perm = 128;
  int bands = 0;  // with rows: instead of recall
  int rows = 0;
  int shingle_words = 5;
  bool verify_by_signature = false;  // decide by the estimate, and keep no sets: smaller, less exact
  int max_listed = 256;              // documents with one band key that a band lists
  int max_checks = 64;               // candidates that are verified for one document
  int64_t expire_after_ms = 0;       // in the documents' own time; 0: never
  uint64_t hash_key[2] = {};         // secret; anything fixed if documents come from friends
  int shards = 1;                    // parts of the index, which take 268 million documents each
};

// One detector is used by one thread at a time.
class Detector {
 public:
  // The error names the option that is impossible, its value, and what would be possible.
  static absl::StatusOr<std::unique_ptr<Detector>> create(const DetectorOptions& options);
  ~Detector();

  // Judges a document and remembers it if it is unique.
  Judgement insert(const Document& document);
  // The same for many, in order; faster, and no verdict differs.
  std::vector<Judgement> insert(std::span<const Document> documents);

  // Judges only.
  Judgement query(const Document& document) const;

  // Forgets the unique documents of this id. False if there is none.
  bool remove(std::string_view id);

  size_t size() const;  // unique documents remembered
  uint64_t memory_bytes() const;

 private:
  struct Impl;
  explicit Detector(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace doppel
