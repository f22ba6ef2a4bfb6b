#pragma once
// The one rule (docs/concepts.md): if an earlier, live representative is at least as similar as the
// threshold, the document is a duplicate of the most similar such one (ties: the earliest); else it
// becomes a representative. Similarities are integer pairs, compared without rounding.

#include <cstdint>

#include "index/banding.h"
#include "sketch/sketch.h"

namespace doppel {

enum class Verify { exact, signature };

// Record times are milliseconds since 1970; this one means that there is none.
inline constexpr int64_t kNoTime = INT64_MIN;

struct Rule {
  uint32_t threshold_ppm = 800'000;
  Verify verify = Verify::exact;
  Banding banding{18, 6};
  int min_equal = 80;              // equal slices below which a candidate is not verified
  int max_listed = 256;            // representatives with one key that a band lists
  int max_checks = 64;             // candidates verified for one document
  int64_t expire_after_ms = 0;     // 0: never
  uint64_t max_documents = 0;      // representatives from the oldest live one to the newest; 0: any number
  bool replace = false;            // documents ask for what stands under their id to be removed first
  uint32_t generation = 1024;      // representatives that expire together
  uint32_t watermark_rank = 1000;  // the n-th largest record time so far is the watermark
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

}  // namespace doppel
