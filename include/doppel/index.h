#pragma once
// An index of documents, in memory or in a directory that outlives the program.
//
//   auto index = doppel::Index::open("pages.index").value();
//   for (const auto& page : pages) {
//     auto judgement = index->insert({.id = page.id, .text = page.text}).value();
//     if (judgement.verdict == doppel::Verdict::duplicate)
//       std::cout << page.id << " repeats " << judgement.duplicate_of << '\n';
//   }
//   index->save().IgnoreError();
//
// The directory is the one of `doppel scan --state` and of the Python package: each of them continues where
// another one stopped.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "doppel/verdict.h"

namespace doppel {

// Any thread may call any function at any time. Calls that change the index run one after the other; queries
// run in parallel.
class Index {
 public:
  // What an index is made with. An option that is not set is the one that the index in the directory was made
  // with, or the default where the index is new. One that differs from the index is an error that names both.
  struct Options {
    std::optional<double> threshold;          // default .8: Jaccard similarity that makes a copy
    std::optional<double> recall;             // .995: how probably a pair at the threshold is found
    std::optional<int> num_perm;              // 128 slots of a signature
    std::optional<int> bands, rows;           // of the signature; else they follow from threshold and recall
    std::optional<int> shingle_words;         // 5
    std::optional<bool> verify_by_signature;  // false; true estimates, and keeps no sets: smaller, less exact
    std::optional<int> max_listed;            // 256 documents with one band key that a band lists
    std::optional<int> max_checks;            // 64 candidates that are verified for one document
    std::optional<int64_t> expire_after_ms;   // 0, never; counted in the documents' own time
    // 32 hexadecimal digits. With the key, a person can craft documents that the index takes for copies.
    // Default: the key in the directory, made at random with the index. In memory: a public one.
    std::optional<std::string> hash_key;
    int shards = 1;   // parts of the index, each for 268 million documents; never changes a verdict
    int threads = 0;  // 0: as many as there are processors
    bool create_if_missing = true;
  };

  // Views into the caller's memory, which must live until the call returns.
  struct Document {
    std::string_view id;     // empty: the document is called by its number in the life of the index
    std::string_view text;   // UTF-8; invalid bytes separate words
    std::string_view scope;  // documents of different scopes are never copies of each other
    std::optional<int64_t> timestamp_ms;  // drives expiry
  };

  // A document that is remembered.
  struct Original {
    uint64_t number = 0;  // in the order of insertion; never used again
    std::string_view id;  // valid during the visit
  };

  // Opens the index in `directory`, or makes one. Empty: in memory. Errors: InvalidArgument names an
  // impossible option, FailedPrecondition options that differ from the index, Unavailable says who uses the
  // directory, NotFound that there is no index and create_if_missing is false.
  static absl::StatusOr<std::unique_ptr<Index>> open(const std::string& directory, const Options& options);
  static absl::StatusOr<std::unique_ptr<Index>> open(const std::string& directory) {
    return open(directory, Options());
  }
  // Saves; the index in the directory is complete also without it.
  ~Index();
  Index(const Index&) = delete;
  Index& operator=(const Index&) = delete;

  // Judges each document, in order, and remembers the unique ones. A document that comes again, with its id
  // and its text, is no copy of itself: it is unique again, and remembered once. When insert() returns, the
  // documents are in the directory: they survive the end of the process, whatever ends it. After an error of
  // the directory the index must be opened again.
  absl::StatusOr<Judgement> insert(const Document& document);
  absl::StatusOr<std::vector<Judgement>> insert(std::span<const Document> documents);

  // Says what insert() would say of each document if it came now, and remembers nothing.
  absl::StatusOr<Judgement> query(const Document& document) const;
  absl::StatusOr<std::vector<Judgement>> query(std::span<const Document> documents) const;

  // Forgets the documents with this id. False: there is none.
  absl::StatusOr<bool> remove(std::string_view id);

  // Makes the index survive a loss of power.
  absl::Status save();

  // Calls `visit` for each document that is remembered, in order, until it returns false. `visit` must not
  // change the index.
  absl::Status for_each(const std::function<bool(const Original&)>& visit) const;

  size_t size() const;  // documents remembered
  uint64_t memory_bytes() const;

 private:
  struct Impl;
  explicit Index(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace doppel
