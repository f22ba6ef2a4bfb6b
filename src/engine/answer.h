#pragma once
// What an owner of originals knows about one document: the result of MATCH. RESOLVE decides from the answers
// of all owners and from its own later decisions.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "engine/relatives.h"
#include "engine/rule.h"
#include "engine/shard_set.h"
#include "index/index.h"
#include "text/hash_key.h"

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
  // sorted by the number of such prints, then the earliest. The first compared_most() are compared.
  std::vector<Relative> relatives;

  void clear();

  // Stores the metadata of an original. MATCH describes same_payload, exact, each relative that shares enough
  // to be related, and each candidate that is similar enough to be named and more similar than all before it.
  // So the best original that RESOLVE may need is here, whichever of these have died since.
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
  friend void put_answer(std::string& out, const Answer& answer, size_t checked);
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

// The answers of one owner of originals to a range of documents, as a record. A document that the owner knows
// nothing about is in the range, but has no answer. Little endian:
//
//    0  u32 CRC32C of all that follows
//    4  u8  version: 1
//    5  string generation: identifies the decisions that the cut counts
//       string shards of the owner (ShardSet::text())
//       varint cut of the answers
//       varint first offset in the order, varint number of offsets
//       varint number of answers; each: varint offset minus the previous one (at first: minus the first
//       offset), and
//           u8 flags: 1 a payload is known, 2 a digest is known, 4 has relatives, 8 relatives were left out
//           flag 1: varint number, u64 u64 digest of the original with this payload
//           flag 2: varint number of the original with this digest
//           varint number of candidates; each: varint number, varint equal slices, u8 1 checked 2 estimated;
//           if checked: varint shared values, varint values of both
//           varint number of further, unchecked candidates
//           varint number of bands that list the key; each: varint band, varint originals listed
//           varint number of originals with the id; each: varint number, u64 u64 digest
//           varint number of described originals; each: varint number, string metadata
//           flag 4: varint number of listed prints; each: varint number of the print, varint originals that
//           list it; varint number of relatives; each: varint number, varint prints that it lists, varint
//           number of hits, each: varint number of the print; u8 1 compared; if compared: varint size of its
//           set, varint number of cells, each: varint cell, varint shared; varint number of runs, each:
//           varint begin, varint shingles
inline constexpr uint8_t kAnswerRecordVersion = 1;

// Documents are identified by their offsets in the order.
struct AnswerRecord {
  std::string generation;
  std::string shards;
  Cut as_of = 0;
  uint64_t begin = 0, end = 0;
  std::vector<std::pair<uint64_t, Answer>> answers;  // ascending
};

// Candidates after the first `checked` are only counted.
void encode_answers(const AnswerRecord& record, size_t checked, std::string& out);
// InvalidArgument: the bytes are not an answer record, are damaged, or have another version.
absl::Status decode_answers(std::string_view bytes, AnswerRecord& out);

}  // namespace doppel
