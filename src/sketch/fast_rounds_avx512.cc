// The first round is a chain of loads and stores that no vector instruction shortens. But most shingles of a
// long document are above every slot, and vectors filter them out. The later rounds concern only the few
// slots that are still open; vectors check 16 shingles at a time for these.

// g++ 12 warns about the undefined operand inside its own intrinsics.
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>

#include "sketch/fast_rounds.h"

namespace doppel {
namespace {

constexpr size_t kBlock = 512;

// A minimum in a vector register takes fewer instructions than compare and move. The hash is loaded twice,
// because a load is cheaper than a move between register files.
inline void lower_first(uint64_t* slots, int k, const uint64_t* x) {
  uint32_t low;
  __builtin_memcpy(&low, x, sizeof low);
  uint64_t* slot = slots + first_bin(low, k);
  __m128i rank = _mm_srli_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(x)), 64 - kRankBits);
  __m128i least = _mm_min_epu64(rank, _mm_loadl_epi64(reinterpret_cast<const __m128i*>(slot)));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(slot), least);
}

inline void lower_all_first(uint64_t* slots, int k, const uint64_t* x, size_t n) {
  for (; n >= 4; x += 4, n -= 4) {
    lower_first(slots, k, x);
    lower_first(slots, k, x + 1);
    lower_first(slots, k, x + 2);
    lower_first(slots, k, x + 3);
  }
  for (; n != 0; ++x, --n) lower_first(slots, k, x);
}

// Processes kBlock shingles. `bound` is the largest slot: only shingles below it can lower a slot.
inline void lower_some_first(uint64_t* slots, int k, const uint64_t* x, uint64_t bound) {
  alignas(64) uint64_t below[kBlock + 8];
  size_t count = 0;
  const __m512i limit = _mm512_set1_epi64(static_cast<int64_t>(bound));
  for (size_t i = 0; i < kBlock; i += 8) {
    __m512i shingles = _mm512_loadu_si512(x + i);
    __mmask8 mask = _mm512_cmplt_epu64_mask(_mm512_srli_epi64(shingles, 64 - kRankBits), limit);
    _mm512_storeu_si512(below + count, _mm512_maskz_compress_epi64(mask, shingles));
    count += static_cast<size_t>(__builtin_popcount(mask));
  }
  lower_all_first(slots, k, below, count);
}

// Sets a bit for each slot that does not hold an earlier round than `round`.
inline bool find_open(const uint64_t* slots, int k, int round, uint8_t* open) {
  const __m512i from = _mm512_set1_epi64(static_cast<int64_t>(first_open(round)));
  unsigned any = 0;
  int i = 0;
  for (; i + 8 <= k; i += 8) {
    __mmask8 mask = _mm512_cmpge_epu64_mask(_mm512_loadu_si512(slots + i), from);
    open[i / 8] = mask;
    any |= mask;
  }
  if (i < k) {
    auto rest = static_cast<__mmask8>((1u << (k - i)) - 1);
    __mmask8 mask = _mm512_mask_cmpge_epu64_mask(rest, _mm512_maskz_loadu_epi64(rest, slots + i), from);
    open[i / 8] = mask;
    any |= mask;
  }
  return any != 0;
}

// Processes at most kBlock shingles. First lists those that fall on open slots: they are few, and a branch on
// each would be unpredictable.
inline void middle_round(uint64_t* slots, int k, const uint64_t* x, size_t n, const RoundKey& key, int round,
                         const uint8_t* open) {
  alignas(64) uint32_t concerned[kBlock + 16];
  size_t count = 0;
  const __m512i open_low = _mm512_load_si512(open);
  const __m512i open_high = _mm512_load_si512(open + 64);
  const __m512i evens = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
  const __m512i multiply = _mm512_set1_epi32(static_cast<int>(static_cast<uint32_t>(key.flip >> 32) | 1));
  const __m512i bins = _mm512_set1_epi32(k);
  const __m512i one = _mm512_set1_epi32(1);
  __m512i index = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
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
    __mmask16 hits = _mm512_mask_test_epi32_mask(lanes, word, _mm512_rolv_epi32(one, bin));
    _mm512_storeu_si512(concerned + count, _mm512_maskz_compress_epi32(hits, index));
    count += static_cast<size_t>(__builtin_popcount(hits));
    index = _mm512_add_epi32(index, _mm512_set1_epi32(16));
  }
  for (size_t i = 0; i < count; ++i) {
    const uint64_t shingle = x[concerned[i]];
    lower(slots[round_bin(shingle, key, k)], round_slot(shingle, key, round));
  }
}

}  // namespace

void first_round_avx512(uint64_t* slots, int k, const uint64_t* x, size_t n) {
  constexpr uint64_t kWorthIt = uint64_t{1}
                                << (kRankBits - 1);  // then at least half of the shingles are skipped
  for (; n > 2 * kBlock; x += kBlock, n -= kBlock) {
    uint64_t bound = largest_slot(slots, k);
    if (bound < kWorthIt) {
      lower_some_first(slots, k, x, bound);
    } else {
      lower_all_first(slots, k, x, kBlock);
    }
  }
  lower_all_first(slots, k, x, n);
}

bool middle_rounds_avx512(uint64_t* slots, int k, const uint64_t* x, size_t n, const uint64_t* keys, int from,
                          int to) {
  if (n <= kFewShingles) return middle_rounds_of_few(slots, k, x, n, keys, from, to);
  alignas(64) uint8_t open[kMaxSlots / 8] = {};
  for (int round = from; round < to; ++round) {
    if (!find_open(slots, k, round, open)) return false;
    const RoundKey key = round_key(keys, round);
    for (size_t i = 0; i < n; i += kBlock) {
      middle_round(slots, k, x + i, n - i < kBlock ? n - i : kBlock, key, round, open);
    }
  }
  return find_open(slots, k, to, open);
}

void classic_update_avx512(uint64_t* slots, int k, const uint64_t* x, size_t n, const uint64_t* salts) {
  classic_loop(slots, k, x, n, salts);
}

}  // namespace doppel
