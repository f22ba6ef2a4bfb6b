#include "index/move_targets.h"

namespace doppel {

void move_targets_scalar(const Bucket* group, const MoveRule& rule, uint8_t* to) {
  for (uint32_t b = 0; b < kGroup; ++b) {
    const Bucket& bucket = group[b];
    for (int slot = 0; slot < kSlots; ++slot) {
      const uint32_t home = (b ^ distance_at(bucket, slot)) % kGroup;  // some home if the slot is free
      const uint64_t top =
          rule.first[home] + ((stored_at(bucket, slot) - rule.first_stored[home]) & kStoredMask);
      const bool moves =
          code_at(bucket.header, slot) != 0 && rule.window.contains(bucket.entry[slot] & kOrdinalMask);
      *to++ = moves ? static_cast<uint8_t>((rule.start + top * rule.buckets) >> rule.bits) : kNowhere;
    }
  }
}

MoveTargets move_targets_for(Simd level) {
#if defined(__x86_64__)
  if (level == Simd::avx512) return move_targets_avx512;
#endif
  (void)level;
  return move_targets_scalar;
}

}  // namespace doppel
