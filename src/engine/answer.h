#pragma once
// What an owner of originals knows of one document: what MATCH finds. RESOLVE decides from the answers of all
// owners and from what it has decided itself since.

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

// The number of batches that were decided before: the only time that RESOLVE and owners share. An answer as
// of a cut knows what these batches made and removed, and nothing else.
using Cut = uint64_t;

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

// An original that was found by a name of its own, and the digest of its text.
struct Named {
  Seq seq = 0;
  Digest digest;
};

struct Answer {
  Cut as_of = 0;
  std::optional<Named> same_payload;  // made of the same bytes
  std::optional<Seq> exact;           // with this digest
  absl::InlinedVector<Verified, 2>
      candidates;                // in the order of checked_before; the first max_checks are checked
  uint32_t candidates_more = 0;  // behind these, unchecked and not named
  absl::InlinedVector<BandCount, 2> counts;  // see Found
  absl::InlinedVector<Named, 1> same_id;     // where the document asks for its id; ascending

  // Where the index knows relations and the document has prints:
  bool relatives_left_out = false;       // nobody looked: the document repeats an original
  std::vector<PrintCount> print_counts;  // ascending; those that are not here are listed by none
  // Those that list a print which fewer than common_after of this owner list: most such prints first, then
  // earliest. The first max_checks are compared.
  std::vector<Relative> relatives;

  void clear();

  // The metadata of same_payload, of exact, and of every candidate that is similar enough and more so than
  // all before it: whichever of them are left out elsewhere, the best of the others is among these. And of
  // each relative that was compared.
  void describe(Seq seq, std::string_view metadata);
  std::optional<std::string_view> about(Seq seq) const;
  bool describes_any() const { return !described_.empty(); }

  size_t bytes() const { return metadata_.size() + 16 * (candidates.size() + counts.size()) + 64; }
  // Whether it says nothing but its cut: nothing is known of the document.
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

// What all owners say of the documents of a batch.
struct Answers {
  std::span<Answer> all;  // those of the first document, those of the next one, ...
  size_t owners = 1;
  Cut covered = 0;  // these and all later answers are as of this cut, or of a later one

  std::span<Answer> of(size_t document) const { return all.subspan(document * owners, owners); }
  size_t documents() const { return all.size() / owners; }
};

}  // namespace doppel
