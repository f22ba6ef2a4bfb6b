#pragma once
// The rounds of Fast Similarity Sketching, as every kernel computes them.
//
// In round t < k each shingle falls into one bin that a hash of (shingle, t) picks; in round t >= k all
// shingles fall into bin t - k. A slot is (round, rank), 12 bits and 52 bits, and keeps its minimum. So
// what matters for round t are only the slots that do not hold an earlier round yet ("open" slots), and
// when none is open nothing later can change the sketch: with n shingles that is after about
// k ln(k) / n rounds. Minima do not depend on order, and a round too many changes nothing.
//
// Round 0 takes its bits from the shingle hash itself: the bin from bits 31 downwards, the rank from bits 63
// to 12. They overlap in bits 31 to 12 only, far below what decides a minimum, and the slice (bits 19 to 12)
// is clear of the bin's (31 to 22 at k = 1024).
//
// The functions here have internal linkage, so that a copy that is compiled with AVX-512 stays in the
// kernel that needs it.

#include <cstddef>
#include <cstdint>

namespace doppel {

struct RoundKey {
  uint64_t flip;      // xored to the hash for the rank; its upper half, made odd, multiplies for the bin
  uint64_t multiply;  // odd
};
// Keys are two words a round.
inline constexpr int kRankBits = 52;
inline constexpr int kMaxSlots = 1024;  // 2 * 1024 rounds leave the round number of an empty slot free

// Round 0.
void first_round_scalar(uint64_t* slots, int k, const uint64_t* x, size_t n);
void first_round_avx2(uint64_t* slots, int k, const uint64_t* x, size_t n);
void first_round_avx512(uint64_t* slots, int k, const uint64_t* x, size_t n);

// Rounds [from, to), 1 <= from <= to <= k, as far as needed. Returns whether a slot is still open to round
// `to`.
bool middle_rounds_scalar(uint64_t* slots, int k, const uint64_t* x, size_t n, const uint64_t* keys, int from,
                          int to);
bool middle_rounds_avx2(uint64_t* slots, int k, const uint64_t* x, size_t n, const uint64_t* keys, int from,
                        int to);
bool middle_rounds_avx512(uint64_t* slots, int k, const uint64_t* x, size_t n, const uint64_t* keys, int from,
                          int to);

// Rounds [k, 2k).
void last_rounds(uint64_t* slots, int k, const uint64_t* x, size_t n, const uint64_t* keys);

namespace {

[[maybe_unused]] inline RoundKey round_key(const uint64_t* keys, int round) {
  return {keys[2 * round], keys[2 * round + 1]};
}
[[maybe_unused]] inline uint32_t first_bin(uint64_t x, int k) {
  return static_cast<uint32_t>(static_cast<uint64_t>(static_cast<uint32_t>(x)) * static_cast<uint32_t>(k) >>
                               32);
}
[[maybe_unused]] inline uint64_t first_slot(uint64_t x) { return x >> (64 - kRankBits); }

// 32-bit arithmetic throughout, so that a vector holds as many lanes as possible; k < 2^11.
[[maybe_unused]] inline uint32_t round_bin(uint64_t x, const RoundKey& key, int k) {
  uint32_t product = static_cast<uint32_t>(x) * (static_cast<uint32_t>(key.flip >> 32) | 1);
  return (product >> 10) * static_cast<uint32_t>(k) >> 22;
}
[[maybe_unused]] inline uint64_t round_slot(uint64_t x, const RoundKey& key, int round) {
  __extension__ using uint128 = unsigned __int128;
  uint128 product = static_cast<uint128>(x ^ key.flip) * key.multiply;
  uint64_t folded = static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  return static_cast<uint64_t>(round) << kRankBits | folded >> (64 - kRankBits);
}
[[maybe_unused]] inline uint64_t first_open(int round) { return static_cast<uint64_t>(round) << kRankBits; }
[[maybe_unused]] inline void lower(uint64_t& slot, uint64_t value) { slot = value < slot ? value : slot; }

[[maybe_unused]] inline uint64_t largest_slot(const uint64_t* slots, int k) {
  uint64_t largest = 0;
  for (int i = 0; i < k; ++i) largest = slots[i] > largest ? slots[i] : largest;
  return largest;
}

// For few shingles: most of them fall on open slots, so asking first costs more (in mispredicted branches)
// than the rank. Nor is it asked after every round whether it was the last one.
inline constexpr size_t kFewShingles = 24;
[[maybe_unused]] inline bool middle_rounds_of_few(uint64_t* slots, int k, const uint64_t* x, size_t n,
                                                  const uint64_t* keys, int from, int to) {
  for (int round = from; round < to; ++round) {
    if ((round - from) % 4 == 0 && largest_slot(slots, k) < first_open(round)) return false;
    const RoundKey key = round_key(keys, round);
    for (size_t i = 0; i < n; ++i) lower(slots[round_bin(x[i], key, k)], round_slot(x[i], key, round));
  }
  return largest_slot(slots, k) >= first_open(to);
}

}  // namespace
}  // namespace doppel
