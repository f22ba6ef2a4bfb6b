#pragma once
// RESOLVE: walks a batch in order and applies the one rule. It knows no index: of each document it gets what
// the owners of the originals answered (MATCH), and it adds what it has decided itself since. Sequential and
// small: everything that can be done in parallel was done by SIGN and MATCH.

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
  std::span<const uint64_t> band_keys;  // of documents with slices
  std::span<DocumentSet> sets;
  Answers answers;
  std::span<const Seq> forget;  // live originals that are removed before the first document
};

// Whom RESOLVE asks in the midst of a batch. Both are rare.
struct Ask {
  // Fills a document of the batch that is unread, and its answers: its original has gone since.
  std::function<absl::Status(size_t document)> read;
  // Renews the answers to a document: as of now, with everything that this batch has removed so far. Asked
  // where a death lets a candidate move up that was not verified, or may have made room in a band that was
  // full.
  std::function<absl::Status(size_t document)> again;
};

// What has died that owners may not know of yet.
struct Deaths {
  std::vector<Seq> seqs;
  Seq lowest_live = 0;  // everything below, too
};

class Resolver {
 public:
  Resolver(const Rule& rule, int num_perm, Owners owners = {});

  // Decides the batch. After an error it is not to be used further.
  absl::Status resolve(const ToResolve& work, const Ask& ask, Resolved& out);
  // What resolve() would say of document i of the batch if it came now and alone. Nothing is decided: the
  // next one does not know of it. The window must be empty, and every answer as of now.
  absl::Status query(const ToResolve& work, const Ask& ask, size_t i, Outcome& out);
  // While Ask::again is called: what the new answers should know.
  const RelateHint& hint() const { return hint_; }
  Deaths deaths() const { return {window_.died(), window_.lowest_live()}; }
  // Who answers from now on.
  void set_owners(const Owners& owners) { window_.set_owners(owners); }
  // How many batches were decided: what is decided next has this number.
  Cut cut() const { return cut_; }
  size_t window_originals() const { return window_.originals(); }
  // Where answers to the next batch may not cover this one: copies what belongs to the batch.
  absl::Status keep() { return window_.keep(); }

  Expiry& expiry() { return expiry_; }
  const Expiry& expiry() const { return expiry_; }
  // After a restore: expiry and numbering go on from here.
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

  // Of the batch at hand.
  const ToResolve* work_ = nullptr;
  const Ask* ask_ = nullptr;
  Resolved* out_ = nullptr;
  // Of the document at hand.
  std::vector<Verified> candidates_;
  std::vector<uint32_t> listed_;    // by band: originals of the window with its key
  std::vector<uint32_t> answered_;  // by band: those that the owners list
  std::optional<uint64_t> asked_;   // it was asked again after so many deaths
  struct MaybeRelated {
    Seq seq = 0;
    size_t hits = 0;                     // prints that are not common
    const Relative* answered = nullptr;  // nullptr: of the window
  };
  std::vector<MaybeRelated> maybe_related_;
  std::vector<uint32_t> print_listed_;                                    // by Print::number: by how many
  std::vector<std::pair<const Newcomers::Entry*, uint32_t>> print_hits_;  // of the window
  PodVector<uint64_t> prints_;                                            // that a new original lists
  std::vector<uint8_t> entered_;                                          // by Print::number: among these
  RelateHint hint_;
  TextMap map_;
};

}  // namespace doppel
