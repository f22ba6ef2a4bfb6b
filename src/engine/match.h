#pragma once
// MATCH: finds what an owner's index knows about each document: an original with an equal digest, and the
// candidates that pass the prefilter, of which the best max_checks are verified. Read-only; any number of
// threads may work on disjoint parts of a batch.

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "engine/answer.h"
#include "engine/bodies.h"
#include "engine/old_originals.h"
#include "engine/rule.h"
#include "engine/shard_set.h"
#include "engine/sign.h"

namespace doppel {

struct MatchCounters {  // of one call; add them up
  uint64_t candidates = 0;
  uint64_t checks = 0;         // verified pairs
  uint64_t checks_capped = 0;  // documents with more than max_checks candidates
};

// What MATCH reads of a batch, and where it writes the answers.
struct ToMatch {
  const SignedBatch& batch;
  std::span<const uint64_t> band_keys;  // for documents with slices
  std::span<DocumentSet> sets;
  Answers answers;
  const RelateHint* hint = nullptr;  // from RESOLVE, if it asks a second time for one document
};

class Matcher {
 public:
  // Returns the payload of a document from its metadata; zeros if unknown.
  using PayloadOf = std::function<Digest(std::string_view metadata)>;
  // All arguments must outlive the matcher. `index` holds the originals of `shards` under their local
  // numbers.
  Matcher(const Rule& rule, const ShardSet& shards, const ShareIndex& index, const Bodies& bodies,
          PayloadOf payload_of);

  // Finds the live original with this payload and describes it.
  absl::Status find_payload(const Digest& payload, Answer& answer) const;

  // Fills this owner's answers for documents [begin, end). DataLoss: a body could not be read.
  absl::Status match(const ToMatch& work, size_t begin, size_t end, size_t owner, Cut as_of,
                     MatchCounters& counters) const;

 private:
  absl::StatusOr<bool> verify_best(const SignedDocument& document, DocumentSet& set, Answer& answer) const;
  absl::Status find_relatives(const ToMatch& work, std::span<const size_t> places, size_t owner) const;
  absl::Status compare_relatives(const SignedDocument& document, DocumentSet& set, Answer& answer) const;
  struct FoundOf;
  void find_hits(const SignedDocument& document, const RelateHint& hint, FoundOf& rest, Answer& answer) const;
  absl::Status verify(const SignedDocument& document, DocumentSet& set, Verified& candidate,
                      std::optional<Body>& body) const;
  // Valid until the next call on this thread.
  absl::StatusOr<Body> body(Seq seq) const;
  absl::StatusOr<Body> body_of_found(Seq seq) const;  // of the lookup in match()

  const Rule& rule_;
  const ShardSet& shards_;
  const ShareIndex& index_;
  const Bodies& bodies_;
  const PayloadOf payload_of_;
};

}  // namespace doppel
