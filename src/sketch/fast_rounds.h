#pragma once
// The rounds of Fast Similarity Sketching, as every kernel computes them.
//
// In round t < k, a hash of (shingle, t) assigns each shingle to one bin; in round t >= k, all shingles go to
// bin t - k. A slot holds the minimum of its bin's pairs (round, rank), 12 bits and 52 bits. So round t
// matters only for "open" slots, which do not hold an earlier round yet. When no slot is open, later rounds
// cannot change the sketch: with n shingles that is after about k ln(k) / n rounds. Minima do not depend on
// order, and a superfluous round changes nothing.
//
// Round 0 uses bits of the shingle hash itself: the bin from bits 31 downwards, the rank from bits 63 to 12.
// They overlap only in bits 31 to 12, which almost never decide a minimum, and the slice (bits 19 to 12) does
// not overlap the bits of the bin (31 to 22 at k = 1024).
//
// The functions here have internal linkage, so that a copy compiled with AVX-512 stays in the kernel that
// needs it.

#include <cstddef>
#include <cstdint>

namespace doppel {

struct RoundKey {
  uint64_t flip;  // xored to the hash for the rank; its upper half, made odd, multiplies the hash for the bin
  uint64_t multiply;  // odd
};
// Each round has two words of keys.
inline constexpr int kRankBits = 52;
inline constexpr int kMaxSlots = 1024;  // 2 * 1024 rounds leave the round number of an empty slot unused

// Round 0.
void first_round_scalar(uint64_t* slots, int k, const uint64_t* x, size_t n);
void first_round_avx2(uint64_t* slots, int k, const uint64_t* x, size_t n);
void first_round_avx512(uint64_t* slots, int k, const uint64_t* x, size_t n);

// Rounds [from, to), 1 <= from <= to <= k; stops when no slot is open. Returns whether a slot is still open
// to round `to`.
bool middle_rounds_scalar(uint64_t* slots, int k, const uint64_t* x, size_t n, const uint64_t* keys, int from,
                          int to);
bool middle_rounds_neon(uint64_t* slots, int k, const uint64_t* x, size_t n, const uint64_t* keys, int from,
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

// Uses 32-bit arithmetic only, so that a vector holds as many lanes as possible; k < 2^11.
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

// For few shingles. Most of them fall on open slots, so checking first costs more (in mispredicted branches)
// than computing the rank. It also checks only every fourth round whether a slot is open.
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

// Classic MinHash: slot i is the minimum over all shingles of a 64-bit hash with the i-th salt. The loop is
// compiled once for each instruction set; internal linkage keeps the copies apart.
void classic_update_scalar(uint64_t* slots, int k, const uint64_t* x, size_t n, const uint64_t* salts);
void classic_update_avx2(uint64_t* slots, int k, const uint64_t* x, size_t n, const uint64_t* salts);
void classic_update_avx512(uint64_t* slots, int k, const uint64_t* x, size_t n, const uint64_t* salts);

namespace {

// Eight slots at a time stay in registers while the shingles stream past.
inline void classic_loop(uint64_t* slots, int k, const uint64_t* x, size_t n, const uint64_t* salts) {
  constexpr int kLanes = 8;
  for (int first = 0; first < k; first += kLanes) {
    const int lanes = k - first < kLanes ? k - first : kLanes;
    uint64_t least[kLanes];
    uint64_t salt[kLanes];
    for (int i = 0; i < kLanes; ++i) {
      least[i] = i < lanes ? slots[first + i] : 0;
      salt[i] = i < lanes ? salts[first + i] : 0;
    }
    for (size_t j = 0; j < n; ++j) {
      for (int i = 0; i < kLanes; ++i) {
        uint64_t h = x[j] ^ salt[i];
        h ^= h >> 32;
        h *= 0xd6e8feb86659fd93u;
        h ^= h >> 32;
        h *= 0xd6e8feb86659fd93u;
        h ^= h >> 32;
        least[i] = h < least[i] ? h : least[i];
      }
    }
    for (int i = 0; i < lanes; ++i) slots[first + i] = least[i];
  }
}

}  // namespace

}  // namespace doppel
