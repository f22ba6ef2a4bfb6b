#pragma once
// Where the entries of a group go when a table grows.

#include <cstdint>

#include "base/simd.h"
#include "index/bucket.h"

namespace doppel {

// The rule for one group. Tops count from the group's first one, new homes from some bucket before the first.
struct MoveRule {
  uint32_t first[kGroup];         // top of each home
  uint32_t first_stored[kGroup];  // and its bits, of which the stored ones count
  uint64_t start;                 // new home of top t: (start + t * buckets) >> bits
  uint64_t buckets;               // < 2^32
  int bits;
  Window window;
};

inline constexpr uint8_t kNowhere = 31;

// to[bucket * kSlots + slot] for the eight buckets of a group: the new home, or kNowhere if the slot is free
// or its entry outside the window. New homes are less than kNowhere.
using MoveTargets = void (*)(const Bucket* group, const MoveRule& rule, uint8_t* to);
void move_targets_scalar(const Bucket* group, const MoveRule& rule, uint8_t* to);
void move_targets_avx512(const Bucket* group, const MoveRule& rule, uint8_t* to);
MoveTargets move_targets_for(Simd level);

}  // namespace doppel
