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
// The directory has the format of `doppel scan --state` and of the Python package. Each of the three can
// continue an index that another one wrote.

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

// Thread-safe: any thread may call any function at any time. Calls that change the index run one after the
// other; queries run in parallel.
class Index {
 public:
  // The parameters of an index. An unset option takes the value stored in the directory, or the default for a
  // new index. open() fails if an option differs from the stored value; the error names both values.
  struct Options {
    std::optional<double> threshold;   // default .8: Jaccard similarity from which a document is a duplicate
    std::optional<double> recall;      // .995: probability that a pair at the threshold is found
    std::optional<int> num_perm;       // 128: slots of a signature
    std::optional<int> bands, rows;    // default: derived from threshold and recall
    std::optional<int> shingle_words;  // 5
    std::optional<bool> verify_by_signature;  // false; true stores no sets of shingles: smaller, less exact
    std::optional<int> max_listed;            // 256: documents with the same band key that a band lists
    std::optional<int> max_checks;            // 64: candidates that are verified for one document
    // Besides near copies: "contained", "contains", "shares", "similar" (docs/partial-copies.md). Default:
    // none.
    std::optional<std::vector<std::string>> relations;
    std::optional<double> containment;       // .8: share of a text that the other one must have
    std::optional<double> report_from;       // .6: similarity from which an original is "similar"
    std::optional<int> passage_words;        // 154: the shortest passage that is certainly found
    std::optional<int> common_after;         // a passage that this many documents share no longer counts
    std::optional<int> max_related;          // 16: related originals that are reported for one document
    std::optional<bool> partial_duplicate;   // false; true makes a contained document a duplicate
    std::optional<int64_t> expire_after_ms;  // 0 means never; counted in the documents' own time
    // 32 hexadecimal digits. Whoever knows the key can craft documents that the index takes for duplicates.
    // Default: a random key, stored in the directory when the index is created. An index in memory uses a
    // public key.
    std::optional<std::string> hash_key;
    // Directories of indexes that are only read: a document that is in one of them is a duplicate. Other
    // programs may read them at the same time. An index is always opened with those that it was made with.
    std::vector<std::string> against;
    int shards = 1;   // parts of the index, each for up to 268 million documents; never changes a verdict
    int threads = 0;  // 0: one for each processor
    // Bytes of the index from which old originals move to disk; 0: all stay in memory. Never changes a
    // verdict.
    int64_t memory = 0;
    bool create_if_missing = true;

    // Sets an option by its name, as set("threshold", "0.8"), set("relations", "contained,shares"), or
    // set("partial_duplicate", "true"). Each set("against", directory) adds a directory. InvalidArgument
    // names the option, the value, and what would be right.
    absl::Status set(std::string_view name, std::string_view value);
  };

  // The views must stay valid until the call returns.
  struct Document {
    std::string_view id;                  // if empty, the index uses the document's number as its id
    std::string_view text;                // UTF-8; invalid bytes separate words
    std::string_view scope;               // documents of different scopes are never duplicates of each other
    std::optional<int64_t> timestamp_ms;  // drives expiry
  };

  // A document that the index remembers.
  struct Original {
    uint64_t number = 0;  // in the order of insertion; never reused
    std::string_view id;  // valid during the call of `visit`
  };

  // Opens the index in `directory`, or creates one. If `directory` is empty, the index is in memory. Errors:
  // InvalidArgument names an impossible option; FailedPrecondition names options that differ from the index;
  // Unavailable names the process that uses the directory; NotFound means that the directory has no index and
  // create_if_missing is false.
  static absl::StatusOr<std::unique_ptr<Index>> open(const std::string& directory, const Options& options);
  static absl::StatusOr<std::unique_ptr<Index>> open(const std::string& directory) {
    return open(directory, Options());
  }
  // Calls save(). The directory is complete without it.
  ~Index();
  Index(const Index&) = delete;
  Index& operator=(const Index&) = delete;

  // Judges the documents in order and remembers the unique ones. A document that is inserted a second time
  // with the same id and text is not a duplicate of itself: it is unique both times, and remembered once.
  // When insert() returns, the documents are in the directory and survive any end of the process. After an
  // I/O error of the directory, the index must be reopened.
  absl::StatusOr<Judgement> insert(const Document& document);
  absl::StatusOr<std::vector<Judgement>> insert(std::span<const Document> documents);

  // Returns the judgement that insert() would return for each document now, except that a document that the
  // index remembers is a duplicate of itself. Remembers nothing.
  absl::StatusOr<Judgement> query(const Document& document) const;
  absl::StatusOr<std::vector<Judgement>> query(std::span<const Document> documents) const;

  // An original that is similar to a document.
  struct Near {
    std::string id;
    double similarity = 0;  // Jaccard similarity of their shingles
  };
  // Returns the originals that are most similar to the document, at most `most` (and max_checks) of them: the
  // most similar one first, then the earliest. An original that reaches the threshold is found as surely as
  // by insert(); one below it may be missed, the more likely the less similar it is.
  absl::StatusOr<std::vector<Near>> nearest(const Document& document, size_t most) const;

  // Forgets all documents with this id. Returns false if there are none.
  absl::StatusOr<bool> remove(std::string_view id);

  // Makes the index survive a loss of power.
  absl::Status save();

  // Calls `visit` for each remembered document, in order of insertion, until `visit` returns false. `visit`
  // must not change the index.
  absl::Status for_each(const std::function<bool(const Original&)>& visit) const;

  size_t size() const;  // documents remembered
  uint64_t memory_bytes() const;

 private:
  struct Impl;
  explicit Index(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace doppel
