#pragma once
// The one rule (docs/concepts.md): if an earlier, live original reaches the threshold, the document is a
// duplicate of the most similar one (ties: the earliest); otherwise it becomes an original. Similarities are
// pairs of integers and are compared without rounding.

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "engine/relation.h"
#include "index/banding.h"
#include "sketch/sketch.h"

namespace doppel {

enum class Verify { exact, signature };

// Record times are milliseconds since 1970. This value means that there is none.
inline constexpr int64_t kNoTime = INT64_MIN;

struct Rule {
  uint32_t threshold_ppm = 800'000;
  Verify verify = Verify::exact;
  Banding banding{11, 4};
  bool banding_chosen = false;  // derived from threshold and recall; an existing index keeps its own
  int min_equal = 80;           // minimum of equal slices for verification
  int max_listed = 256;         // originals with the same key that a band lists
  int max_checks = 64;          // candidates that are verified for one document
  int64_t expire_after_ms = 0;  // 0 means never
  uint64_t max_documents = 0;   // originals from the oldest live one to the newest; 0: unlimited
  // Set if max_documents also follows from max_memory (set_room()); otherwise 0.
  uint64_t max_memory = 0;           // bytes, as configured
  uint64_t documents_in_memory = 0;  // what max_memory was converted to when the index was created
  uint64_t documents_setting = 0;    // the setting max_documents; 0: none
  bool replace = false;              // a document first removes the original with its id
  uint32_t generation = 1024;        // number of originals that expire together
  uint32_t watermark_rank = 1000;    // the watermark is the n-th largest record time so far
  RelationRule relations;            // relations other than near
};

__extension__ using Uint128 = unsigned __int128;

inline bool reaches(Overlap s, uint32_t threshold_ppm) {
  return static_cast<Uint128>(s.inter) * 1'000'000 >= static_cast<Uint128>(s.uni) * threshold_ppm;
}

inline bool more_similar(Overlap a, Overlap b) {
  return static_cast<Uint128>(a.inter) * b.uni > static_cast<Uint128>(b.inter) * a.uni;
}

// In millionths, rounded down, as it is shown.
inline uint32_t similarity_ppm(Overlap s) {
  return s.uni == 0 ? 0 : static_cast<uint32_t>(static_cast<Uint128>(s.inter) * 1'000'000 / s.uni);
}

// Makes a rule from a user's settings; bands and rows are chosen if they are 0. An error names what is
// impossible and what would be possible.
absl::StatusOr<Rule> make_rule(double threshold, double recall, int num_perm, int bands = 0, int rows = 0);
std::string describe_rule(const Rule& rule);  // "name=value" lines
// Sets max_documents to the smaller one of the setting and what fits into the memory.
void set_room(Rule& rule, uint64_t max_memory, uint64_t documents_in_memory, uint64_t documents_setting);
// Takes the number of originals that max_memory was converted to from the description of an index. Changes
// nothing if it has none, or if max_memory is not set.
void take_room(Rule& rule, std::string_view described);
// Replaces chosen bands and rows with those in the description of an index. Returns whether they changed.
bool take_banding(Rule& rule, std::string_view described);

}  // namespace doppel
