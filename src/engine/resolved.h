#pragma once
// What a batch changes: a verdict for each document, new originals, and those that are no more.

#include <cstdint>
#include <string_view>
#include <vector>

#include "doppel/verdict.h"
#include "engine/rule.h"
#include "index/index.h"

namespace doppel {

// What was decided about one document.
struct Outcome {
  Verdict verdict = Verdict::unscored;
  Kind kind = Kind::none;
  bool estimated = false;     // similarity comes from slices
  bool same_payload = false;  // found by its payload
  bool again = false;         // unique: it is the document of an original that is in the index already
  Overlap similarity{0, 1};
  Seq seq = 0;                // unique: its own number; duplicate: its original's
  std::string_view original;  // duplicate or again: the original's metadata; valid as long as the batch
  uint32_t candidates = 0;    // that were found
  uint32_t checks = 0;        // of these, how many were verified
  Overlap closest{0, 1};      // of these, the most similar one
  // unique: the originals that it is related to, the largest intersection first (ties: the earliest); a
  // duplicate because it is contained: its original
  std::vector<Related> related;
  uint32_t related_more = 0;  // that max_related left out
};

struct StoredRow {  // views are valid as long as the batch (or the call that gave it)
  Seq seq = 0;
  Row row;
  int64_t trusted_ms = kNoTime;  // record time as far as expiry trusts it; on disk only
  bool removed = false;
};

// Why an original is no more.
enum class RemovalReason : uint8_t {
  removed,    // its id was named
  replaced,   // another text came under its id
  forgotten,  // by request
  expired,    // expire_after
  evicted,    // max_documents
};
std::string_view removal_reason_name(RemovalReason reason);

struct Removed {
  Seq seq = 0;
  RemovalReason reason = RemovalReason::removed;
  bool operator==(const Removed&) const = default;
};

// Everything that a batch changes.
struct Resolved {
  std::vector<Outcome> outcomes;  // one per document of the batch
  std::vector<StoredRow> rows;    // new originals, ascending; where their bodies are is known once applied
  std::vector<size_t> places;     // of their documents in the batch
  std::vector<Removed> removed;   // one by one, in the order in which it happened
  Seq lowest_live = 0;            // everything below is dead too: expired or evicted
  uint64_t listings_capped = 0;   // times a band did not list because it was full
  uint64_t prints_capped = 0;     // times a print did not, for the same reason

  std::vector<Seq> removed_numbers() const;
  void clear();
};

}  // namespace doppel
