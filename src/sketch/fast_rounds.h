#pragma once
// The rounds of Fast Similarity Sketching, as every kernel computes them.
//
// In round t < k each shingle falls into one bin that a hash of (shingle, t) picks; in round t >= k all
// shingles fall into bin t - k. A slot is (round, rank), 12 bits and 52 bits, and keeps its minimum. So
// what matters for round t are only the slots that do not hold an earlier round yet ("open" slots), and
// when none is open nothing later can change the sketch: with n shingles that is after about
// k ln(k) / n rounds. Minima do not depend on order, so neither does the sketch.
//
// Round 0 takes its bits from the shingle hash itself: the bin from bits 31..., the rank from bits 63
// down to 12. They overlap in bits 31 to 12 only, far below what decides a minimum, and the slice (bits
// 19 to 12) is clear of the bin's (31 to 22 at k = 1024).
//
// Everything here has internal linkage, so that the copy that is compiled with AVX-512 stays in the
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

// Processes rounds [from, to) as far as needed. Returns the first round that was not processed, or 2k when
// no slot is open any more.
int fast_rounds_scalar(uint64_t* slots, int k, const uint64_t* x, size_t n, const uint64_t* keys, int from,
                       int to);
int fast_rounds_avx2(uint64_t* slots, int k, const uint64_t* x, size_t n, const uint64_t* keys, int from,
                     int to);
int fast_rounds_avx512(uint64_t* slots, int k, const uint64_t* x, size_t n, const uint64_t* keys, int from,
                       int to);

namespace {

[[maybe_unused]] inline RoundKey round_key(const uint64_t* keys, int round) {
  return {keys[2 * round], keys[2 * round + 1]};
}
[[maybe_unused]] inline uint32_t first_bin(uint64_t x, uint32_t k) {
  return static_cast<uint32_t>((static_cast<uint64_t>(static_cast<uint32_t>(x)) * k) >> 32);
}
[[maybe_unused]] inline uint64_t first_slot(uint64_t x) { return x >> (64 - kRankBits); }

// 32-bit arithmetic throughout, so that a vector holds as many lanes as possible; k < 2^11.
[[maybe_unused]] inline uint32_t round_bin(uint64_t x, const RoundKey& key, uint32_t k) {
  uint32_t product = static_cast<uint32_t>(x) * (static_cast<uint32_t>(key.flip >> 32) | 1);
  return ((product >> 10) * k) >> 22;
}
[[maybe_unused]] inline uint64_t round_slot(uint64_t x, const RoundKey& key, int round) {
  __extension__ using uint128 = unsigned __int128;
  uint128 product = static_cast<uint128>(x ^ key.flip) * key.multiply;
  uint64_t folded = static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  return static_cast<uint64_t>(round) << kRankBits | folded >> (64 - kRankBits);
}
[[maybe_unused]] inline void lower(uint64_t& slot, uint64_t value) { slot = value < slot ? value : slot; }

// A round t >= k: everything into one bin.
[[maybe_unused]] inline void last_round(uint64_t* slots, int k, const uint64_t* x, size_t n,
                                        const RoundKey& key, int round) {
  uint64_t& slot = slots[round - k];
  if (slot >> kRankBits < static_cast<uint64_t>(round)) return;
  for (size_t i = 0; i < n; ++i) lower(slot, round_slot(x[i], key, round));
}

}  // namespace
}  // namespace doppel
