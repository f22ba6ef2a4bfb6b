#pragma once
// RESOLVE: walks a batch in order, applies the one rule, and only then lets the index grow. Sequential
// and small: everything that can be done in parallel was done by SIGN and MATCH.

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "doppel/verdict.h"
#include "engine/expiry.h"
#include "engine/match.h"
#include "engine/newcomers.h"

namespace doppel {

// What was decided about one document.
struct Outcome {
  Verdict verdict = Verdict::unscored;
  Kind kind = Kind::none;
  bool estimated = false;     // similarity comes from slices
  bool same_payload = false;  // found by its payload
  Overlap similarity{0, 1};
  Seq seq = 0;                // unique: its own number; duplicate: its original's
  std::string_view original;  // duplicate: the original's metadata; valid as long as the batch
};

struct StoredRow {  // views are valid as long as the batch (or the call that gave it)
  Seq seq = 0;
  Row row;
  int64_t trusted_ms = kNoTime;  // record time as far as expiry trusts it; on disk only
  bool removed = false;
};

// Why a representative is no more.
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
  std::vector<StoredRow> rows;    // new representatives, ascending
  std::vector<Removed> removed;   // one by one, in the order in which it happened
  Seq lowest_live = 0;            // everything below is dead too: expired or evicted
  std::vector<Seq> removed_numbers() const;
  uint64_t listings_capped = 0;  // times a band did not list because it was full
};

class Resolver {
 public:
  Resolver(const Rule& rule, Index& index, Bodies& bodies, const Matcher& matcher);

  // Removes what is to be forgotten (what is dead already is passed over), decides the batch, appends the
  // bodies of its representatives and inserts them. `matched` must have been made since the last call. After
  // an error (a body could not be read or written) the index is not to be used further.
  // `read`: fills a document of the batch that is unread, and what MATCH says of it. Called where the
  // original has gone since.
  absl::Status resolve(const SignedBatch& batch, std::span<uint64_t> band_keys, std::span<Matched> matched,
                       std::span<const Seq> forget, const std::function<absl::Status(size_t)>& read,
                       Resolved& out);

  Expiry& expiry() { return expiry_; }
  const Expiry& expiry() const { return expiry_; }
  // After a restore: expiry and numbering go on from here.
  void restore_row(const StoredRow& row) { expiry_.added(row.seq, row.trusted_ms); }

 private:
  struct Batch;
  absl::Status judge(const Batch& batch, size_t i, Outcome& outcome);
  absl::Status find_payload(const Batch& batch, size_t i, Outcome& outcome, Digest& digest);
  absl::Status choose_near(const Batch& batch, size_t i, Outcome& outcome, bool& found);
  void become_representative(const Batch& batch, size_t i, Outcome& outcome);
  void remove(Seq seq, RemovalReason reason);
  void remove_id(uint64_t id_tag);
  void replace(uint64_t id_tag, const Digest& digest);
  void make_room(Seq seq);
  void expire_to(Seq lowest_live);
  absl::Status grow_index(const Batch& batch);

  const Rule& rule_;
  Index& index_;
  Bodies& bodies_;
  const Matcher& matcher_;
  Expiry expiry_;
  Seq lowest_live_ = 0;
  Newcomers newcomers_;
  bool died_ = false;  // something that MATCH saw alive has died in this batch
  const std::function<absl::Status(size_t)>* read_ = nullptr;
  Resolved* out_ = nullptr;
  std::vector<uint32_t> listed_;
  std::vector<uint64_t> new_keys_;
};

}  // namespace doppel
