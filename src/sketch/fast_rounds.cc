// Fast Similarity Sketching in its readable form.

#include "sketch/fast_rounds.h"

namespace doppel {

void first_round_scalar(uint64_t* slots, int k, const uint64_t* x, size_t n) {
  for (size_t i = 0; i < n; ++i) lower(slots[first_bin(x[i], k)], first_slot(x[i]));
}

bool middle_rounds_scalar(uint64_t* slots, int k, const uint64_t* x, size_t n, const uint64_t* keys, int from,
                          int to) {
  if (n <= kFewShingles) return middle_rounds_of_few(slots, k, x, n, keys, from, to);
  for (int round = from; round < to; ++round) {
    const uint64_t open = first_open(round);
    if (largest_slot(slots, k) < open) return false;
    const RoundKey key = round_key(keys, round);
    for (size_t i = 0; i < n; ++i) {
      uint64_t& slot = slots[round_bin(x[i], key, k)];
      if (slot >= open) lower(slot, round_slot(x[i], key, round));
    }
  }
  return largest_slot(slots, k) >= first_open(to);
}

void last_rounds(uint64_t* slots, int k, const uint64_t* x, size_t n, const uint64_t* keys) {
  for (int round = k; round < 2 * k; ++round) {
    uint64_t& slot = slots[round - k];
    if (slot < first_open(round)) continue;
    const RoundKey key = round_key(keys, round);
    for (size_t i = 0; i < n; ++i) lower(slot, round_slot(x[i], key, round));
  }
}

}  // namespace doppel
