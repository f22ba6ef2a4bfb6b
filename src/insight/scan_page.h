#pragma once
// The page of `doppel scan --html`: how often documents came, the originals that came most often with their
// copies beside them, and where the copies are. It holds a bounded number of each and stays below
// kScanPageBytes, however many documents there were.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/rule.h"
#include "insight/explanation.h"

namespace doppel {

inline constexpr size_t kScanPageBytes = 4 << 20;
inline constexpr size_t kScanTextBytes = 64 << 10;  // of a text that is shown; the rest is left out
inline constexpr size_t kScanGroups = 200;          // that the page names
inline constexpr size_t kScanPlaces = 50;           // folders, and hosts
inline constexpr size_t kScanGroupsInFull = 30;  // groups with their texts; further ones are lines of a table

// A document that the page names, and shows if its text could be read again.
struct PageDocument {
  std::string name;
  std::string event_id;  // by which it is found again
  std::optional<std::string> text;
};

struct PageCopy {
  PageDocument document;
  Kind kind = Kind::exact;
  uint32_t similarity_ppm = 0;
};

// Whether the page shows a copy of this kind, beside those that it shows of the group so far. Near copies
// tell more than exact ones, so it makes room for one.
bool takes_copy(std::vector<PageCopy>& shown, Kind kind);

struct PageGroup {
  PageDocument original;
  uint64_t copies = 0, exact = 0;
  uint64_t bytes = 0;           // of the copies
  std::vector<PageCopy> first;  // the first few copies
};

// "3 are parts of others; 1 share a passage"; "" if there are none.
std::string related_in_words(const RelationCounts& counts);

struct PageRelated {
  PageDocument document, original;
  Relation relation = Relation::shares;
  uint32_t of_document_ppm = 0, of_original_ppm = 0;
};

// A folder or a host.
struct PagePlace {
  std::string name;
  uint64_t documents = 0, copies = 0, bytes = 0;  // bytes of the copies
};

struct PagePlaces {
  std::vector<PagePlace> most;  // those with the most bytes in copies
  uint64_t others = 0;          // how many more there are
  bool complete = true;         // false: there were too many to count each exactly
};

struct ScanPage {
  std::string input;  // what was read, in words
  std::string rule;   // what counts as a copy, in words
  uint64_t documents = 0, unique = 0, exact = 0, near = 0, partial = 0;
  uint64_t bytes = 0, copied_bytes = 0;
  std::vector<std::pair<std::string, uint64_t>> not_compared;  // reason and number
  // How many documents came once, twice, 3 times, 4 or 5 times and so on: the label, the originals, and the
  // documents with their copies.
  struct Times {
    std::string label;
    uint64_t originals = 0, documents = 0;
  };
  std::vector<Times> times;
  std::vector<PageGroup> groups;  // those with the most copies, first the largest
  uint64_t other_groups = 0, other_copies = 0, other_bytes = 0;
  PagePlaces folders, hosts;
  RelationCounts counts;  // of related
  std::vector<PageRelated> related;
  std::string no_texts;  // why there are no texts; empty: there are
};

// The table of times. `copies`: how many each original has that has any; `alone`: how many originals have
// none.
std::vector<ScanPage::Times> times_of(const std::vector<uint64_t>& copies, uint64_t alone);

// What counts as a copy.
std::string rule_in_words(const EngineOptions& engine);

// `engine`: the settings by which the documents were compared.
std::string scan_page(const ScanPage& page, const EngineOptions& engine);

}  // namespace doppel
