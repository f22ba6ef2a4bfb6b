// Fast Similarity Sketching as anyone can read it.

#include "sketch/fast_rounds.h"

namespace doppel {

int fast_rounds_scalar(uint64_t* slots, int k, const uint64_t* x, size_t n, const uint64_t* keys, int from,
                       int to) {
  for (int round = from; round < to; ++round) {
    const RoundKey key = round_key(keys, round);
    if (round == 0) {
      for (size_t i = 0; i < n; ++i) lower(slots[first_bin(x[i], k)], first_slot(x[i]));
    } else if (round < k) {
      uint64_t open_from = static_cast<uint64_t>(round) << kRankBits;
      for (size_t i = 0; i < n; ++i) {
        uint64_t& slot = slots[round_bin(x[i], key, k)];
        if (slot >= open_from) lower(slot, round_slot(x[i], key, round));
      }
    } else {
      last_round(slots, k, x, n, key, round);
    }
    uint64_t largest = 0;
    for (int i = 0; i < k; ++i) largest = slots[i] > largest ? slots[i] : largest;
    if (largest >> kRankBits <= static_cast<uint64_t>(round)) return 2 * k;
  }
  return to;
}

}  // namespace doppel
