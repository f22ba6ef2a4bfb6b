#pragma once
// RESOLVE: goes through a batch in order and applies the rule. It has no index: it combines what the owners
// of the originals answered to each document (MATCH) with its own later decisions. It is sequential and
// small, because SIGN and MATCH do all work that can run in parallel.

#include <functional>
#include <span>
#include <vector>

#include "engine/answer.h"
#include "engine/expiry.h"
#include "engine/resolved.h"
#include "engine/window.h"

namespace doppel {

// What RESOLVE reads of a batch.
struct ToResolve {
  const SignedBatch& batch;
  std::span<const uint64_t> band_keys;  // for documents with slices
  std::span<DocumentSet> sets;
  Answers answers;
  std::span<const Seq> forget;  // live originals to remove before the first document
};

// Calls that RESOLVE makes during a batch. Both are rare.
struct Ask {
  // Reads an `unread` document of the batch and fills its answers, because its original has died since.
  std::function<absl::Status(size_t document)> read;
  // Renews the answers to a document as of now, including everything that this batch has removed so far.
  // Called if a death promotes a candidate that was not verified, or may have made room in a full band.
  std::function<absl::Status(size_t document)> again;
};

// Recent deaths that owners may not know about.
struct Deaths {
  std::vector<Seq> seqs;
  Seq lowest_live = 0;  // everything below is dead too
};

class Resolver {
 public:
  Resolver(const Rule& rule, int num_perm, Owners owners = {});

  // Decides the batch. After an error, do not use the resolver again.
  absl::Status resolve(const ToResolve& work, const Ask& ask, Resolved& out);
  // Returns what resolve() would decide for document i of the batch if it came now and alone, and changes
  // nothing. The window must be empty, and every answer as of now.
  absl::Status query(const ToResolve& work, const Ask& ask, size_t i, Outcome& out);
  // During Ask::again: what the new answers must take into account.
  const RelateHint& hint() const { return hint_; }
  Deaths deaths() const { return {window_.died(), window_.lowest_live()}; }
  // Sets who answers from now on.
  void set_owners(const Owners& owners) { window_.set_owners(owners); }
  // The number of batches decided, which is also the number of the next batch.
  Cut cut() const { return cut_; }
  size_t window_originals() const { return window_.originals(); }
  // Copies what belongs to the batch. Call it if the answers to the next batch may not cover this one.
  absl::Status keep() { return window_.keep(); }

  Expiry& expiry() { return expiry_; }
  const Expiry& expiry() const { return expiry_; }
  // After a restore, expiry and numbering continue from here.
  void restore_row(const StoredRow& row) { expiry_.added(row.seq, row.trusted_ms); }
  void finish_restore(Seq next_seq, Seq lowest_live);

 private:
  const SignedDocument& document(size_t i) const { return work_->batch.documents[i]; }
  const uint8_t* slices(size_t i) const;
  const uint64_t* keys(size_t i) const;

  absl::Status judge(size_t i, Outcome& outcome);
  absl::StatusOr<bool> find_original(size_t i, Outcome& outcome);
  void check_original(size_t i, const Outcome& outcome) const;
  bool find_payload(size_t i, Outcome& outcome, Digest& digest) const;
  bool find_exact(size_t i, Outcome& outcome) const;
  void set_exact(size_t i, Seq seq, const Answer* answer, Outcome& outcome) const;

  absl::Status choose_near(size_t i, Outcome& outcome);
  absl::StatusOr<bool> weigh(size_t i, Outcome& outcome);
  bool collect(size_t i);
  absl::Status find_related(size_t i, Outcome& outcome);
  absl::StatusOr<bool> weigh_related(size_t i, int asked, bool last, Outcome& outcome);
  bool collect_related(size_t i, int asked, bool last);
  absl::StatusOr<bool> compare_related(size_t i, bool last, Outcome& outcome);
  void repeat_container(Outcome& outcome) const;
  std::span<const uint64_t> listed_prints(size_t i);
  absl::Status compare(size_t i, const Newcomers::Entry& newcomer, Verified& candidate);
  std::optional<std::string_view> about(size_t i, Seq seq) const;

  absl::Status become_original(size_t i, Outcome& outcome);
  bool count_listed(size_t i);
  bool may_be_stale(size_t i) const;
  absl::Status ask_again(size_t i);

  void remove(Seq seq, RemovalReason reason);
  void remove_id(size_t i);
  void replace(size_t i, const Digest& digest);
  std::vector<Named> same_id(size_t i) const;
  void make_room(Seq seq);
  void expire_to(Seq lowest_live);
  void list_rows();

  const Rule& rule_;
  const int num_perm_;
  Expiry expiry_;
  Window window_;
  Seq next_seq_ = 0;
  Cut cut_ = 0;

  // Of the current batch.
  const ToResolve* work_ = nullptr;
  const Ask* ask_ = nullptr;
  Resolved* out_ = nullptr;
  // Of the current document.
  std::vector<Verified> candidates_;
  std::vector<uint32_t> listed_;    // by band: originals of the window with its key
  std::vector<uint32_t> answered_;  // by band: originals that the owners list
  std::optional<uint64_t> asked_;   // the value of deaths() when RESOLVE last asked again
  struct MaybeRelated {
    Seq seq = 0;
    size_t hits = 0;                     // number of prints that are not common
    const Relative* answered = nullptr;  // nullptr if it is in the window
  };
  std::vector<MaybeRelated> maybe_related_;
  std::vector<uint32_t> print_listed_;     // by Print::number: number of originals
  std::vector<uint32_t> print_positions_;  // by Print::number: where it occurs first
  bool any_listed_ = false;                // whether one of them is not 0
  std::vector<std::pair<const Newcomers::Entry*, uint32_t>> print_hits_;  // in the window
  PodVector<uint64_t> prints_;                                            // listed by the new original
  std::vector<uint8_t> entered_;  // by Print::number: whether it is in prints_
  RelateHint hint_;
  TextMap map_;
  std::optional<Related> similar_;  // the most similar original, if it is below the threshold
};

}  // namespace doppel
