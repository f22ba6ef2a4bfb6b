#pragma once
// The one rule (docs/concepts.md): if an earlier, live original is at least as similar as the
// threshold, the document is a duplicate of the most similar such one (ties: the earliest); else it
// becomes an original. Similarities are integer pairs, compared without rounding.

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "engine/relation.h"
#include "index/banding.h"
#include "sketch/sketch.h"

namespace doppel {

enum class Verify { exact, signature };

// Record times are milliseconds since 1970; this one means that there is none.
inline constexpr int64_t kNoTime = INT64_MIN;

struct Rule {
  uint32_t threshold_ppm = 800'000;
  Verify verify = Verify::exact;
  Banding banding{11, 4};
  bool banding_chosen = false;  // from threshold and recall: an index that is there keeps its own
  int min_equal = 80;           // equal slices below which a candidate is not verified
  int max_listed = 256;         // originals with one key that a band lists
  int max_checks = 64;          // candidates verified for one document
  int64_t expire_after_ms = 0;  // 0: never
  uint64_t max_documents = 0;   // originals from the oldest live one to the newest; 0: any number
  // Where max_documents follows from max_memory too (room_of). 0: it does not.
  uint64_t max_memory = 0;           // bytes, as set
  uint64_t documents_in_memory = 0;  // that these were turned into, once, when the index was made
  uint64_t documents_setting = 0;    // the setting max_documents; 0: none
  bool replace = false;              // documents first remove the original with their id
  uint32_t generation = 1024;        // originals that expire together
  uint32_t watermark_rank = 1000;    // the n-th largest record time so far is the watermark
  RelationRule relations;            // besides near
};

__extension__ using Uint128 = unsigned __int128;

inline bool reaches(Overlap s, uint32_t threshold_ppm) {
  return static_cast<Uint128>(s.inter) * 1'000'000 >= static_cast<Uint128>(s.uni) * threshold_ppm;
}

inline bool more_similar(Overlap a, Overlap b) {
  return static_cast<Uint128>(a.inter) * b.uni > static_cast<Uint128>(b.inter) * a.uni;
}

// Millionths, rounded down: what is shown.
inline uint32_t similarity_ppm(Overlap s) {
  return s.uni == 0 ? 0 : static_cast<uint32_t>(static_cast<Uint128>(s.inter) * 1'000'000 / s.uni);
}

// A rule from what a user says; bands and rows 0: chosen. The error names what is impossible and what would
// be possible.
absl::StatusOr<Rule> make_rule(double threshold, double recall, int num_perm, int bands = 0, int rows = 0);
std::string describe_rule(const Rule& rule);  // "name=value" lines
// Sets max_documents: the smaller one of the setting and what the memory holds.
void set_room(Rule& rule, uint64_t max_memory, uint64_t documents_in_memory, uint64_t documents_setting);
// The number of originals that max_memory was turned into is that of the description of an index. Where it
// names none, or max_memory is not set, nothing changes.
void take_room(Rule& rule, std::string_view described);
// Bands and rows that were chosen become those that the description of an index names. True: they are others.
bool take_banding(Rule& rule, std::string_view described);

}  // namespace doppel
