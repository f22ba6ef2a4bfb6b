#pragma once
// MATCH: what the index, as of now, knows of each document: an equal digest, and the candidates that
// passed the prefilter, the best max_checks of them verified. Read-only; any number of threads may work
// on disjoint parts of a batch.

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "engine/bodies.h"
#include "engine/rule.h"
#include "engine/sign.h"
#include "index/index.h"
#include "sketch/compact_set.h"

namespace doppel {

struct Verified {
  Seq seq = 0;
  int equal = 0;           // equal slices
  bool checked = false;    // `overlap` is filled
  bool estimated = false;  // from the slices, not from sets
  Overlap overlap;
};

// The order in which candidates are verified: most equal slices, then earliest.
inline bool checked_before(const Verified& a, const Verified& b) {
  return a.equal != b.equal ? a.equal > b.equal : a.seq < b.seq;
}
// a is better than b as an original: more similar, or as similar and earlier.
inline bool better(const Verified& a, const Verified& b) {
  if (more_similar(a.overlap, b.overlap)) return true;
  return !more_similar(b.overlap, a.overlap) && a.seq < b.seq;
}

// What the index keeps of a payload in memory; 0: not known.
uint32_t payload_bits(const Digest& payload);

struct Matched {
  std::optional<Seq> same_payload;              // a representative that was made of the same bytes
  std::optional<Seq> exact;                     // a representative with this digest
  absl::InlinedVector<Verified, 2> candidates;  // most equal slices first, then earliest
  absl::InlinedVector<BandCount, 2> counts;     // see Found
  std::optional<Seq> described;                 // whose metadata this is
  std::string metadata;
  bool has_set = false;
  CompactSet set;
  std::string coded_set;  // made where the document will probably become a representative

  void clear();
};

struct MatchCounters {  // of one call, to be added up
  uint64_t candidates = 0;
  uint64_t checks = 0;         // verified pairs
  uint64_t checks_capped = 0;  // documents that had more than max_checks candidates
};

class Matcher {
 public:
  // The payload of a document whose metadata this is; zeros: not known.
  using PayloadOf = std::function<Digest(std::string_view metadata)>;
  // All outlive the matcher.
  Matcher(const Rule& rule, const Index& index, const Bodies& bodies, PayloadOf payload_of);

  // The live representative with this payload, and its metadata.
  absl::StatusOr<std::optional<Seq>> find_payload(const Digest& payload, std::string& metadata) const;

  // Fills matched[begin..end) and band_keys for the same documents. DataLoss: a body could not be read.
  absl::Status match(const SignedBatch& batch, size_t begin, size_t end, std::span<uint64_t> band_keys,
                     std::span<Matched> matched, MatchCounters& counters) const;

  // The steps of match(), for RESOLVE: where a removal in the batch lets a later candidate move up.
  absl::Status verify(const SignedDocument& document, Matched& matched, Verified& candidate) const;
  absl::Status describe(Seq seq, Matched& matched) const;  // makes `described` be seq

  static absl::Status ensure_set(const SignedDocument& document, Matched& matched);
  static void ensure_coded_set(const SignedDocument& document, Matched& matched);

 private:
  const Rule& rule_;
  const Index& index_;
  const Bodies& bodies_;
  const PayloadOf payload_of_;
};

}  // namespace doppel
