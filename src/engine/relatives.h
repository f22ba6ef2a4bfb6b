#pragma once
// What MATCH finds of a document by its prints, and how the sets of two texts are compared place by place.
//
// A document's asked prints cut it into cells: each shingle belongs to the nearest print (of two as near: the
// earlier). How many originals list a print is known only once all owners have answered, so owners count what
// is shared cell by cell, and RESOLVE leaves out the cells that are common.

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "base/pod_vector.h"
#include "engine/relation.h"
#include "sketch/compact_set.h"
#include "sketch/prints.h"

namespace doppel {

// How many live originals list a print that the document asks with.
struct PrintCount {
  uint32_t number = 0;  // Print::number
  uint32_t listed = 0;  // up to max_listed where the document would store it, else up to twice common_after
  bool operator==(const PrintCount&) const = default;
};

struct CellCount {
  uint32_t cell = 0;    // the place of a print among the document's
  uint32_t shared = 0;  // of the shingles that come there first in the document
  bool operator==(const CellCount&) const = default;
};

inline constexpr size_t kPrintsCounted = 127;  // of an original
inline constexpr size_t kRunsMost = 64;        // of one original, the longest; ties: the earliest

// An original that lists prints which the document asks with.
struct Relative {
  Seq seq = 0;
  absl::InlinedVector<uint32_t, 6> hits;  // Print::number, ascending
  uint32_t prints = 0;                    // that the original lists, up to 127
  // Where its set was read:
  bool compared = false;
  uint32_t size = 0;             // of its set
  std::vector<CellCount> cells;  // ascending, none that is 0
  std::vector<ShingleRun> runs;  // ascending
  bool operator==(const Relative&) const = default;
};

// What makes RESOLVE ask again for a document's relatives.
struct RelateHint {
  bool anyway = false;          // also where the answer has an original that the document repeats
  std::vector<uint8_t> common;  // by Print::number: known to be common. May be shorter
  bool is_common(uint32_t number) const { return number < common.size() && common[number] != 0; }
};

// The shingles of one document in their order, to be compared with sets. Not for several threads at once.
class TextMap {
 public:
  // `tops`: of all shingles, in their order; `own`: their set; `cell_sizes`: as another one has counted them,
  // or nothing. All must outlive it.
  void start(const RelationRule& rule, std::span<const uint32_t> tops, std::span<const Print> prints,
             const CompactSet& own, std::span<const uint32_t> cell_sizes = {});

  // Fills size, cells and runs of `out`, and sets `compared`. Cells and runs stay empty where the two share
  // too little to be related.
  void compare(const CompactSet& theirs, Relative& out);

  // The document's own: how many shingles come first in each cell.
  std::span<const uint32_t> cell_sizes();

  // What is left of the runs without the cells that are common (by cell).
  std::vector<ShingleRun> without(std::span<const uint8_t> common, std::span<const ShingleRun> runs) const;

 private:
  void number();
  size_t slot_of(uint32_t value) const;
  uint64_t most_shared(const CompactSet& theirs) const;

  const RelationRule* rule_ = nullptr;
  std::span<const uint32_t> tops_;
  const CompactSet* own_ = nullptr;
  uint32_t run_least_ = 1;
  bool numbered_ = false;     // what follows from table_ on is made
  PodVector<uint32_t> last_;  // by cell: its last position
  std::span<const uint32_t> cell_sizes_;
  PodVector<uint32_t> own_sizes_;
  PodVector<uint32_t> table_;      // of value: its number + 1
  PodVector<uint32_t> values_;     // by number
  PodVector<uint32_t> cells_;      // by number: where it comes first
  PodVector<uint32_t> number_of_;  // by position
  PodVector<uint32_t> ascending_;  // of the own set: number + 1
  PodVector<uint8_t> shared_;      // by number
};

// A cell is as frequent as the nearest print that any original lists says, if that is no further away than a
// passage. `listed`: by Print::number, over all owners.
//
// By cell, whether it is common: common_after originals have it, or a third as many and the next cell is
// common. An original lists the smallest of wide windows only, so that some prints of a template are listed
// less often than others.
std::vector<uint8_t> common_cells(const RelationRule& rule, std::span<const Print> prints,
                                  std::span<const uint32_t> listed);

// By print, whether it is listed where it is not Print::stored: what begins to be a template is known print
// by print, so that it is found to be common early, and its ends are known.
std::vector<uint8_t> frequent_prints(const RelationRule& rule, std::span<const Print> prints,
                                     std::span<const uint32_t> listed);
inline constexpr uint32_t kFrequentFrom = 2;  // originals

// Whether an original with so many prints, of which the document has `hits`, may be related to a document of
// so many shingles. Only what is promising is compared.
bool promising(const RelationRule& rule, size_t hits, size_t shingles, uint32_t prints);

// Whether two texts of so many values each, which share so many at most, may be related, whatever is common.
bool may_relate(const RelationRule& rule, uint64_t shared, uint64_t of_document, uint64_t of_original);

inline constexpr size_t kPassagesMost = 16;  // that are reported of one original

// Whether the document is related to an original that it was compared with, and how. Its metadata is not
// filled.
std::optional<Related> relate(const RelationRule& rule, TextMap& map, std::span<const uint8_t> common,
                              const Relative& relative);

}  // namespace doppel
