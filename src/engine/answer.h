#pragma once
// What an owner of originals knows about one document: the result of MATCH. RESOLVE decides from the answers
// of all owners and from its own later decisions.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/container/inlined_vector.h"
#include "engine/relatives.h"
#include "engine/rule.h"
#include "index/index.h"
#include "text/digest.h"

namespace doppel {

// The number of batches decided so far: the only clock that RESOLVE and the owners share. An answer as of a
// cut reflects exactly the originals and removals of the batches before it.
using Cut = uint64_t;

struct Verified {
  Seq seq = 0;
  int equal = 0;           // number of equal slices
  bool checked = false;    // `overlap` is set
  bool estimated = false;  // `overlap` comes from slices, not from sets
  Overlap overlap;
};

// The order in which candidates are verified: most equal slices first, then the earliest.
inline bool checked_before(const Verified& a, const Verified& b) {
  return a.equal != b.equal ? a.equal > b.equal : a.seq < b.seq;
}
// Whether a is a better original than b: more similar, or equally similar and earlier.
inline bool better(const Verified& a, const Verified& b) {
  if (more_similar(a.overlap, b.overlap)) return true;
  return !more_similar(b.overlap, a.overlap) && a.seq < b.seq;
}

// An original found by its payload or id, and the digest of its text.
struct Named {
  Seq seq = 0;
  Digest digest;
};

struct Answer {
  Cut as_of = 0;
  std::optional<Named> same_payload;            // made from the same bytes
  std::optional<Seq> exact;                     // has this digest
  absl::InlinedVector<Verified, 2> candidates;  // sorted by checked_before; the first max_checks are verified
  uint32_t candidates_more = 0;                 // further candidates, neither verified nor named
  absl::InlinedVector<BandCount, 2> counts;     // see Found
  absl::InlinedVector<Named, 1> same_id;        // if the document asks for its id; ascending

  // The following are set if the index reports relations and the document has prints.
  bool relatives_left_out = false;       // not searched, because the document is a duplicate
  std::vector<PrintCount> print_counts;  // ascending; prints that are missing here are in no list
  // Originals that list at least one print that fewer than common_after of this owner's originals list,
  // sorted by the number of such prints, then the earliest. The first max_checks are compared.
  std::vector<Relative> relatives;

  void clear();

  // Stores the metadata of an original. MATCH describes same_payload, exact, each relative that shares enough
  // to be related, and each candidate that reaches the threshold and is more similar than all before it. So
  // the best original that RESOLVE may need is here, whichever of these have died since.
  void describe(Seq seq, std::string_view metadata);
  std::optional<std::string_view> about(Seq seq) const;
  bool describes_any() const { return !described_.empty(); }

  size_t bytes() const { return metadata_.size() + 16 * (candidates.size() + counts.size()) + 64; }
  // Whether it contains only its cut: the owner knows nothing about the document.
  bool is_empty() const {
    return !same_payload && !exact && candidates.empty() && candidates_more == 0 && counts.empty() &&
           same_id.empty() && !relatives_left_out && print_counts.empty();
  }

 private:
  friend void put_answer(std::string& out, const Answer& answer, size_t checked);  // answer_record.h
  struct Described {
    Seq seq;
    size_t begin, size;
  };
  absl::InlinedVector<Described, 1> described_;
  std::string metadata_;
};

// The answers of all owners to the documents of a batch.
struct Answers {
  std::span<Answer> all;  // grouped by document
  size_t owners = 1;
  Cut covered = 0;  // these and all later answers are as of this cut or a later one

  std::span<Answer> of(size_t document) const { return all.subspan(document * owners, owners); }
  size_t documents() const { return all.size() / owners; }
};

}  // namespace doppel
