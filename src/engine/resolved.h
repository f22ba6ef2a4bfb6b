#pragma once
// The changes that a batch makes: a verdict for each document, new originals, and removed ones.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doppel/verdict.h"
#include "engine/rule.h"
#include "index/index.h"
#include "text/shingler.h"

namespace doppel {

// The decision about one document.
struct Outcome {
  Verdict verdict = Verdict::unscored;
  Kind kind = Kind::none;
  bool estimated = false;     // the similarity is estimated from slices
  bool same_payload = false;  // found by its payload
  bool again = false;         // unique: the index already has an original for this document
  Overlap similarity{0, 1};
  Seq seq = 0;                // unique: its own number; duplicate: its original's
  std::string_view original;  // duplicate or again: the original's metadata; valid as long as the batch
  uint32_t candidates = 0;    // number found
  uint32_t checks = 0;        // number of candidates verified
  Overlap closest{0, 1};      // the highest similarity of these
  // If unique: related originals, the largest intersection first, then the earliest. If a duplicate because
  // it is contained: its original.
  std::vector<Related> related;
  uint32_t related_more = 0;  // number of relations that max_related left out
  // If unique, and RelationRule::cut is set: all passages that originals have too, disjoint and ascending;
  // and the bytes of the text that are cut with them.
  std::vector<WordRange> repeated;
  std::vector<ByteRange> cut;
};

// Fills the byte ranges of the passages, and of what is cut, in the text of the document.
void find_bytes(std::string_view text, Normalisation normalisation, Outcome& outcome);

// The strongest relation of the document to an original.
std::optional<Relation> strongest_relation(const Outcome& outcome);

struct StoredRow {  // views; valid as long as the batch (or the call that passed it)
  Seq seq = 0;
  Row row;
  int64_t trusted_ms = kNoTime;  // record time as far as expiry trusts it; only on disk
  bool removed = false;
};

// Why an original was removed.
enum class RemovalReason : uint8_t {
  removed,    // a removal named its id
  replaced,   // a different text came with its id
  forgotten,  // on request
  expired,    // expire_after
  evicted,    // max_documents
};
std::string_view removal_reason_name(RemovalReason reason);

struct Removed {
  Seq seq = 0;
  RemovalReason reason = RemovalReason::removed;
  bool operator==(const Removed&) const = default;
};

// What a cluster shows in place of its original; opaque here (records/metadata.h).
struct Shown {
  Seq seq = 0;  // of the original
  std::string copy;
  bool operator==(const Shown&) const = default;
};

// A copy that is better than the one its cluster showed (output.best).
struct BetterCopy {
  size_t document = 0;  // of the batch
  Seq seq = 0;          // its original
  std::string copy;     // what the cluster shows now
  std::string before;   // what the cluster showed before; empty: its original
};

// All changes that a batch makes.
struct Resolved {
  std::vector<Outcome> outcomes;  // one for each document of the batch
  std::vector<StoredRow>
      rows;                    // new originals, ascending; the positions of their bodies are set when applied
  std::vector<size_t> places;  // indices of their documents in the batch
  std::vector<Removed> removed;    // individually, in order
  std::vector<BetterCopy> better;  // in the order of the documents
  Seq lowest_live = 0;             // everything below is dead too: expired or evicted
  uint64_t listings_capped = 0;    // how often a full band did not list an original
  uint64_t prints_capped = 0;      // how often the full list of a print did not

  std::vector<Seq> removed_numbers() const;
  std::vector<Shown> shown() const;  // after the batch
  void clear();
};

}  // namespace doppel
