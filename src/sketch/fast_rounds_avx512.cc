#if defined(__x86_64__)
// Round 0 is a chain of loads and stores that no vector instruction shortens; the rounds after it are
// about the few slots that are still open, and 16 shingles at a time are found not to concern them.

// g++ 12 takes the undefined operand inside its own intrinsics for a mistake of ours.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop

#include "sketch/fast_rounds.h"

namespace doppel {
namespace {

// One bit a slot that does not hold an earlier round than `round`.
inline bool find_open(const uint64_t* slots, int k, int round, uint8_t* open) {
  const __m512i from = _mm512_set1_epi64(static_cast<int64_t>(static_cast<uint64_t>(round) << kRankBits));
  unsigned any = 0;
  int i = 0;
  for (; i + 8 <= k; i += 8) {
    __mmask8 mask = _mm512_cmpge_epu64_mask(_mm512_loadu_si512(slots + i), from);
    open[i / 8] = mask;
    any |= mask;
  }
  if (i < k) {
    __mmask8 rest = static_cast<__mmask8>((1u << (k - i)) - 1);
    __mmask8 mask = _mm512_mask_cmpge_epu64_mask(rest, _mm512_maskz_loadu_epi64(rest, slots + i), from);
    open[i / 8] = mask;
    any |= mask;
  }
  return any != 0;
}

inline void middle_round(uint64_t* slots, int k, const uint64_t* x, size_t n, const RoundKey& key, int round,
                         const uint8_t* open) {
  const __m512i open_low = _mm512_load_si512(open);
  const __m512i open_high = _mm512_load_si512(open + 64);
  const __m512i evens = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
  const __m512i multiply = _mm512_set1_epi32(static_cast<int>(static_cast<uint32_t>(key.flip >> 32) | 1));
  const __m512i bins = _mm512_set1_epi32(k);
  const __m512i one = _mm512_set1_epi32(1);
  for (size_t i = 0; i < n; i += 16) {
    __mmask16 lanes = 0xffff;
    __m512i low;
    __m512i high;
    if (i + 16 <= n) {
      low = _mm512_loadu_si512(x + i);
      high = _mm512_loadu_si512(x + i + 8);
    } else {
      lanes = static_cast<__mmask16>((1u << (n - i)) - 1);
      low = _mm512_maskz_loadu_epi64(static_cast<__mmask8>(lanes), x + i);
      high = _mm512_maskz_loadu_epi64(static_cast<__mmask8>(lanes >> 8), x + i + 8);
    }
    __m512i product = _mm512_mullo_epi32(_mm512_permutex2var_epi32(low, evens, high), multiply);
    __m512i bin = _mm512_srli_epi32(_mm512_mullo_epi32(_mm512_srli_epi32(product, 10), bins), 22);
    __m512i word = _mm512_permutex2var_epi32(open_low, _mm512_srli_epi32(bin, 5), open_high);
    unsigned hits = _mm512_mask_test_epi32_mask(lanes, word, _mm512_rolv_epi32(one, bin));
    for (; hits != 0; hits &= hits - 1) {
      uint64_t shingle = x[i + static_cast<size_t>(__builtin_ctz(hits))];
      lower(slots[round_bin(shingle, key, static_cast<uint32_t>(k))], round_slot(shingle, key, round));
    }
  }
}

}  // namespace

int fast_rounds_avx512(uint64_t* slots, int k, const uint64_t* x, size_t n, const uint64_t* keys, int from,
                       int to) {
  alignas(64) uint8_t open[kMaxSlots / 8] = {};
  for (int round = from; round < to; ++round) {
    const RoundKey key = round_key(keys, round);
    if (round == 0) {
      const uint32_t bins = static_cast<uint32_t>(k);
      for (size_t i = 0; i < n; ++i) lower(slots[first_bin(x[i], bins)], first_slot(x[i]));
    } else {
      if (!find_open(slots, k, round, open)) return 2 * k;
      if (round < k) {
        middle_round(slots, k, x, n, key, round, open);
      } else {
        last_round(slots, k, x, n, key, round);
      }
    }
  }
  return find_open(slots, k, to, open) ? to : 2 * k;
}

}  // namespace doppel
#endif
