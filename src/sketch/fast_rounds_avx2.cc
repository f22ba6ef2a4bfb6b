// The same as fast_rounds_avx512.cc, with eight shingles at a time.

#include <immintrin.h>

#include "sketch/fast_rounds.h"

namespace doppel {
namespace {

inline __m256i load256(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }

// Sets a bit, in words of 32, for each slot that does not hold an earlier round than `round`.
inline bool find_open(const uint64_t* slots, int k, int round, uint32_t* open) {
  uint32_t any = 0;
  for (int i = 0; i < kMaxSlots / 32; ++i) open[i] = 0;
  // Round numbers have 12 bits, so after the shift the slots compare correctly as signed numbers.
  const __m256i before = _mm256_set1_epi64x(round - 1);
  int i = 0;
  for (; i + 4 <= k; i += 4) {
    __m256i later = _mm256_cmpgt_epi64(_mm256_srli_epi64(load256(slots + i), kRankBits), before);
    auto mask = static_cast<uint32_t>(_mm256_movemask_pd(_mm256_castsi256_pd(later)));
    open[i / 32] |= mask << (i % 32);
    any |= mask;
  }
  for (; i < k; ++i) {
    uint32_t bit = slots[i] >> kRankBits >= static_cast<uint64_t>(round) ? 1 : 0;
    open[i / 32] |= bit << (i % 32);
    any |= bit;
  }
  return any != 0;
}

inline void concern(uint64_t* slots, int k, uint64_t shingle, const RoundKey& key, int round) {
  lower(slots[round_bin(shingle, key, k)], round_slot(shingle, key, round));
}

inline void middle_round(uint64_t* slots, int k, const uint64_t* x, size_t n, const RoundKey& key, int round,
                         const uint32_t* open) {
  const __m256i open_words = load256(open);
  const __m256i multiply = _mm256_set1_epi32(static_cast<int>(static_cast<uint32_t>(key.flip >> 32) | 1));
  const __m256i bins = _mm256_set1_epi32(k);
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    // The lower halves of shingles 0 1 4 5 2 3 6 7, in this order.
    __m256i halves = _mm256_castps_si256(_mm256_shuffle_ps(_mm256_castsi256_ps(load256(x + i)),
                                                           _mm256_castsi256_ps(load256(x + i + 4)), 0x88));
    __m256i product = _mm256_mullo_epi32(halves, multiply);
    __m256i bin = _mm256_srli_epi32(_mm256_mullo_epi32(_mm256_srli_epi32(product, 10), bins), 22);
    __m256i place = _mm256_srli_epi32(bin, 5);
    __m256i word = k <= 256 ? _mm256_permutevar8x32_epi32(open_words, place)
                            : _mm256_i32gather_epi32(reinterpret_cast<const int*>(open), place, 4);
    // Shifts the wanted bit to the sign.
    __m256i up = _mm256_sllv_epi32(word, _mm256_andnot_si256(bin, _mm256_set1_epi32(31)));
    auto hits = static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(up)));
    for (; hits != 0; hits &= hits - 1) {
      constexpr uint8_t kOrder[8] = {0, 1, 4, 5, 2, 3, 6, 7};
      concern(slots, k, x[i + kOrder[__builtin_ctz(hits)]], key, round);
    }
  }
  for (; i < n; ++i) {
    uint32_t bin = round_bin(x[i], key, k);
    if ((open[bin / 32] >> (bin % 32) & 1) != 0) concern(slots, k, x[i], key, round);
  }
}

}  // namespace

void first_round_avx2(uint64_t* slots, int k, const uint64_t* x, size_t n) {
  for (size_t i = 0; i < n; ++i) lower(slots[first_bin(x[i], k)], first_slot(x[i]));
}

bool middle_rounds_avx2(uint64_t* slots, int k, const uint64_t* x, size_t n, const uint64_t* keys, int from,
                        int to) {
  if (n <= kFewShingles) return middle_rounds_of_few(slots, k, x, n, keys, from, to);
  alignas(32) uint32_t open[kMaxSlots / 32];
  for (int round = from; round < to; ++round) {
    if (!find_open(slots, k, round, open)) return false;
    middle_round(slots, k, x, n, round_key(keys, round), round, open);
  }
  return find_open(slots, k, to, open);
}

void classic_update_avx2(uint64_t* slots, int k, const uint64_t* x, size_t n, const uint64_t* salts) {
  classic_loop(slots, k, x, n, salts);
}

}  // namespace doppel
