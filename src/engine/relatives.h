#pragma once
// How MATCH finds originals by a document's prints, and how it compares the sets of two texts cell by cell.
//
// The prints of a document divide it into cells: each shingle belongs to the nearest print (to the earlier of
// two equally near ones). How many originals list a print is known only once all owners have answered. So
// owners count the shared shingles of each cell, and RESOLVE leaves out the common cells.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "base/bytes.h"
#include "engine/rule.h"
#include "sketch/compact_set.h"
#include "sketch/prints.h"

namespace doppel {

// How many live originals list a print of the document.
struct PrintCount {
  uint32_t number = 0;  // Print::number
  // At most max_listed if the document would store the print, otherwise at most 2 * common_after.
  uint32_t listed = 0;
  bool operator==(const PrintCount&) const = default;
};

struct CellCount {
  uint32_t cell = 0;    // index of its print among the document's
  uint32_t shared = 0;  // shared values that occur first in this cell
  bool operator==(const CellCount&) const = default;
};

inline constexpr size_t kRunsMost = 64;  // the longest runs that are kept of one original; ties: the earliest

// An original that lists prints of the document.
struct Relative {
  Seq seq = 0;
  absl::InlinedVector<uint32_t, 6> hits;  // Print::number, ascending
  uint32_t prints = 0;                    // prints that the original lists, at most kPrintsCounted
  // The following are set if the original was compared.
  bool compared = false;
  uint32_t size = 0;             // number of values in its set
  std::vector<CellCount> cells;  // ascending; without cells that share nothing
  std::vector<ShingleRun> runs;  // ascending
  bool operator==(const Relative&) const = default;
};

// What RESOLVE passes when it asks a second time for a document's relatives.
struct RelateHint {
  bool anyway = false;          // search even if the answer has an original that the document repeats
  std::vector<uint8_t> common;  // by Print::number: whether it is known to be common; may be shorter
  bool is_common(uint32_t number) const { return number < common.size() && common[number] != 0; }
  void clear() {
    anyway = false;
    common.clear();
  }
  bool operator==(const RelateHint&) const = default;
};

// The shingles of one document in text order, ready to be compared with sets. Use one TextMap for each
// thread.
class TextMap {
 public:
  // `tops` are all shingles in text order, and `own` is their set. `cell_sizes` may pass what an earlier map
  // of the document has counted. All must outlive the map.
  void start(const RelationRule& rule, std::span<const uint32_t> tops, std::span<const Print> prints,
             const CompactSet& own, std::span<const uint32_t> cell_sizes = {});

  // Fills size, cells and runs of `out`, and sets `compared`. Leaves cells and runs empty if the two texts
  // share too little to be related.
  void compare(const CompactSet& theirs, Relative& out);

  // For each cell, the number of the document's values that occur there first.
  std::span<const uint32_t> cell_sizes();

 private:
  void find_places();

  const RelationRule* rule_ = nullptr;
  std::span<const uint32_t> tops_;
  const CompactSet* own_ = nullptr;
  uint32_t run_least_ = 1;
  bool placed_ = false;       // whether find_places() has filled first_, place_of_ and cell_of_
  PodVector<uint32_t> last_;  // by cell: its last position
  std::span<const uint32_t> cell_sizes_;
  PodVector<uint32_t> own_sizes_;
  // The place of a value is its index in the own set. Values that are not in the set (only in a damaged
  // signed record) get the place after the last one, whose cell is the one after the last.
  PodVector<uint32_t> values_;     // of the own set, and one that is larger than all
  PodVector<uint32_t> first_;      // by the highest bits of a value: the first place
  PodVector<uint32_t> place_of_;   // by position
  PodVector<uint32_t> cell_of_;    // by place: the cell where the value occurs first
  PodVector<uint32_t> shared_;     // by place: not 0 if the other set has the value
  PodVector<uint32_t> shared_in_;  // by cell
};

// The common parts of a document.
struct Common {
  // By cell: whether it is common. The count of a cell is that of the nearest listed print, if that is at
  // most a passage away. A cell is common if its count is at least common_after, or if it is at least two
  // thirds of that and a neighbouring cell is common. The rest is for templates: an original lists only the
  // minima of wide windows, so some prints of a template are listed less often than others.
  std::vector<uint8_t> cells;
  // Ranges of shingles that no passage includes, ascending. They start from the prints that common_after
  // originals list. Two of these less than a passage apart form one range if all cells between them are
  // common. So a passage stays whole unless common_after originals list a print in it.
  std::vector<ShingleRun> ranges;
};
// `listed`: by Print::number, how many originals of all owners list it.
Common find_common(const RelationRule& rule, std::span<const Print> prints, std::span<const uint32_t> listed);

// Returns `runs` without `ranges` (both ascending), and without pieces that are as short as stock phrases.
std::vector<ShingleRun> without(const RelationRule& rule, std::span<const ShingleRun> ranges,
                                std::span<const ShingleRun> runs);

// By print: whether a new original lists it although it is not Print::stored, because it is near a print that
// kFrequentFrom originals list. So a text that is becoming a template is listed print by print: RESOLVE finds
// early that it is common, and where it ends.
std::vector<uint8_t> frequent_prints(const RelationRule& rule, std::span<const Print> prints,
                                     std::span<const uint32_t> listed);
inline constexpr uint32_t kFrequentFrom = 2;  // originals

// The prints of an original that a document has. They are added by ascending position in the document.
struct Hits {
  size_t count = 0;
  size_t parts = 0;  // of the document, each half a passage long, that have one
  void add(const RelationRule& rule, uint32_t position) {
    const uint32_t part = position / std::max(1u, rule.passage / 2);
    parts += count == 0 || part != last_part ? 1 : 0;
    last_part = part;
    ++count;
  }

 private:
  uint32_t last_part = 0;
};

// Whether an original that lists `prints` prints, of which the document has `hits`, may be related to a
// document of `shingles` shingles. Only promising originals are compared.
bool promising(const RelationRule& rule, const Hits& hits, size_t shingles, uint32_t prints);

// How many promising originals are compared with a document of `shingles` shingles, at most `max_checks`. A
// long document is compared with fewer, but with as many as are reported, so that nobody can make doppel
// compare without bounds.
size_t compared_most(const RelationRule& rule, int max_checks, size_t shingles);

// Whether two texts of these sizes, which share at most `shared` values, may be related, whichever cells are
// common.
bool may_relate(const RelationRule& rule, uint64_t shared, uint64_t of_document, uint64_t of_original);

inline constexpr size_t kPassagesMost = 16;  // reported for one original

// Returns how the document is related to an original that it was compared with, or nullopt if it is not.
// Leaves Related::original empty.
std::optional<Related> relate(const RelationRule& rule, TextMap& map, const Common& common,
                              const Relative& relative);

}  // namespace doppel
