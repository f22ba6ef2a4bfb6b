// The kernels of sketch/ with AVX-512.

// g++ 12 warns about uninitialised values inside its own intrinsics.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#include "sketch/fast_rounds.h"
#include "sketch/prints.h"
#include "sketch/set_coding.h"

namespace doppel {

// Fast similarity sketching. The first round is a chain of loads and stores that no vector instruction
// shortens. But most shingles of a long document are above every slot, and vectors filter them out. The later
// rounds concern only the few slots that are still open; vectors check 16 shingles at a time for these.
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

namespace {

inline __mmask16 lanes_of(size_t rest) {
  return static_cast<__mmask16>(rest < 16 ? (1u << rest) - 1 : 0xffff);
}

void smaller(const uint32_t* a, const uint32_t* b, size_t n, uint32_t* out) {
  size_t i = 0;
  for (; i + 16 <= n; i += 16)
    _mm512_storeu_si512(out + i, _mm512_min_epu32(_mm512_loadu_si512(a + i), _mm512_loadu_si512(b + i)));
  if (i == n) return;
  const __mmask16 lanes = lanes_of(n - i);
  _mm512_mask_storeu_epi32(
      out + i, lanes,
      _mm512_min_epu32(_mm512_maskz_loadu_epi32(lanes, a + i), _mm512_maskz_loadu_epi32(lanes, b + i)));
}

size_t find_changes(const uint32_t* values, size_t n, uint32_t* out) {
  size_t count = 0;
  out[count++] = 0;
  const __m512i places = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  for (size_t i = 1; i < n; i += 16) {
    const __mmask16 lanes = lanes_of(n - i);
    const __mmask16 differ = _mm512_mask_cmpneq_epu32_mask(lanes, _mm512_maskz_loadu_epi32(lanes, values + i),
                                                           _mm512_maskz_loadu_epi32(lanes, values + i - 1));
    // Compresses into a register first: compressing into memory is slow on some processors.
    const __m512i found =
        _mm512_maskz_compress_epi32(differ, _mm512_add_epi32(places, _mm512_set1_epi32(static_cast<int>(i))));
    _mm512_storeu_si512(out + count, found);
    count += static_cast<size_t>(_mm_popcnt_u32(differ));
  }
  return count;
}

// No branch depends on the place of the value, which is unpredictable.
size_t last_of(const uint32_t* values, size_t n, uint32_t value) {
  const __m512i wanted = _mm512_set1_epi32(static_cast<int>(value));
  const auto lanes = static_cast<uint32_t>((uint64_t{1} << n) - 1);
  const auto equal = [&](int from) {
    const auto some = static_cast<__mmask16>(lanes >> from);
    return static_cast<uint32_t>(
        _mm512_mask_cmpeq_epu32_mask(some, _mm512_maskz_loadu_epi32(some, values + from), wanted));
  };
  return 31 - _lzcnt_u32(equal(0) | equal(16) << 16);
}

}  // namespace

extern const PrintKernels kPrintKernelsAvx512{smaller, minima_by<find_changes, last_of>};

// Encodes and decodes the streams of a compact set, sixteen values at a time.
namespace {

// The running sums of the lanes.
inline __m512i running_sums(__m512i x) {
  const __m512i zero = _mm512_setzero_si512();
  x = _mm512_add_epi32(x, _mm512_alignr_epi32(x, zero, 15));
  x = _mm512_add_epi32(x, _mm512_alignr_epi32(x, zero, 14));
  x = _mm512_add_epi32(x, _mm512_alignr_epi32(x, zero, 12));
  return _mm512_add_epi32(x, _mm512_alignr_epi32(x, zero, 8));
}
inline __m512i last_lane(__m512i x) { return _mm512_permutexvar_epi32(_mm512_set1_epi32(15), x); }
inline __m512i each_lane() { return _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0); }

// The gaps: value - previous value - 1. `before` is the previous block.
inline __m512i gaps_of(__m512i values, __m512i before) {
  __m512i previous = _mm512_alignr_epi32(values, before, 15);
  return _mm512_sub_epi32(_mm512_sub_epi32(values, previous), _mm512_set1_epi32(1));
}

// Bitmaps up to this many bits are built from one byte for each bit, which needs no carried word.
constexpr size_t kFlags = 8192;

inline void flags_to_bits(const uint8_t* flags, uint8_t* bits, size_t bytes) {
  size_t i = 0;
  for (; i + 8 <= bytes; i += 8) {
    __m512i v = _mm512_load_si512(flags + 8 * i);
    uint64_t word = _cvtmask64_u64(_mm512_test_epi8_mask(v, v));
    __builtin_memcpy(bits + i, &word, 8);
  }
  if (i < bytes) {
    __m512i v = _mm512_load_si512(flags + 8 * i);
    uint64_t word = _cvtmask64_u64(_mm512_test_epi8_mask(v, v));
    __builtin_memcpy(bits + i, &word, bytes - i);
  }
}

}  // namespace

uint64_t sum_quotients_avx512(const uint32_t* values, size_t n, int b) {
  const __m128i shift = _mm_cvtsi32_si128(b);
  __m512i before = _mm512_set1_epi32(-1);
  __m512i sums = _mm512_setzero_si512();  // 64-bit lanes: quotients sum to at most 2^32
  for (size_t i = 0; i < n; i += 16) {
    __mmask16 lanes = lanes_of(n - i);
    __m512i v = _mm512_maskz_loadu_epi32(lanes, values + i);
    __m512i quotients = _mm512_maskz_srl_epi32(lanes, gaps_of(v, before), shift);
    sums = _mm512_add_epi64(sums, _mm512_and_si512(quotients, _mm512_set1_epi64(0xffffffff)));
    sums = _mm512_add_epi64(sums, _mm512_srli_epi64(quotients, 32));
    before = v;
  }
  return static_cast<uint64_t>(_mm512_reduce_add_epi64(sums));
}

void encode_streams_avx512(const uint32_t* values, const SetStreams& streams) {
  const size_t n = streams.n;
  const size_t plane_bytes = (n + 7) / 8;
  const __m128i shift = _mm_cvtsi32_si128(streams.b);
  const bool small = 8 * streams.quotient_bytes <= kFlags;
  alignas(64) uint8_t flags[kFlags];
  if (small) {
    for (size_t i = 0; i < 8 * streams.quotient_bytes; i += 64) {
      _mm512_store_si512(flags + i, _mm512_setzero_si512());
    }
  }
  __m512i before = _mm512_set1_epi32(-1);
  // The position of the one bit of value i - 1; -1 before the first value.
  __m512i position = _mm512_set1_epi32(-1);
  uint64_t far_position = ~uint64_t{0};
  for (size_t i = 0; i < n; i += 16) {
    const __mmask16 lanes = lanes_of(n - i);
    __m512i v = _mm512_maskz_loadu_epi32(lanes, values + i);
    __m512i gaps = _mm512_maskz_mov_epi32(lanes, gaps_of(v, before));
    before = v;
    int bit = 0;
    for (uint8_t* plane = streams.planes + i; bit + 8 <= streams.b; bit += 8, plane += n) {
      _mm512_mask_cvtepi32_storeu_epi8(plane, lanes, _mm512_srl_epi32(gaps, _mm_cvtsi32_si128(bit)));
    }
    for (uint8_t* plane = streams.bit_planes + i / 8; bit < streams.b; ++bit, plane += plane_bytes) {
      uint32_t bits = _mm512_test_epi32_mask(gaps, _mm512_set1_epi32(static_cast<int>(1u << bit)));
      plane[0] = static_cast<uint8_t>(bits);
      if (n - i > 8) plane[1] = static_cast<uint8_t>(bits >> 8);
    }
    __m512i quotients = _mm512_srl_epi32(gaps, shift);
    alignas(64) uint32_t ones[16];
    const unsigned count = n - i < 16 ? static_cast<unsigned>(n - i) : 16;
    if (small) {
      position = _mm512_add_epi32(position, running_sums(_mm512_add_epi32(quotients, _mm512_set1_epi32(1))));
      _mm512_store_si512(ones, position);
      position = last_lane(position);
      if (count == 16) {
#pragma GCC unroll 16
        for (unsigned j = 0; j < 16; ++j) flags[ones[j]] = 1;
      } else {
        for (unsigned j = 0; j < count; ++j) flags[ones[j]] = 1;
      }
    } else {
      _mm512_store_si512(ones, quotients);
      for (unsigned j = 0; j < count; ++j) {
        far_position += uint64_t{ones[j]} + 1;
        streams.quotients[far_position / 8] |= static_cast<uint8_t>(1 << (far_position % 8));
      }
    }
  }
  if (small) flags_to_bits(flags, streams.quotients, streams.quotient_bytes);
}

void decode_quotients_avx512(const SetStreams& streams, uint32_t* values) {
  const __m128i shift = _mm_cvtsi32_si128(streams.b);
  alignas(64) uint8_t each_byte[64];
  for (int i = 0; i < 64; ++i) each_byte[i] = static_cast<uint8_t>(i);
  const __m512i bytes = _mm512_load_si512(each_byte);
  const __m512i lane = each_lane();
  size_t found = 0;
  for (size_t i = 0; i < streams.quotient_bytes; i += 8) {
    const size_t rest = streams.quotient_bytes - i;
    uint64_t word = 0;
    __builtin_memcpy(&word, streams.quotients + i, rest < 8 ? rest : 8);
    const auto count = static_cast<size_t>(__builtin_popcountll(word));
    const __m512i places = _mm512_maskz_compress_epi8(_cvtu64_mask64(word), bytes);
    // The sum for the j-th one of this word: 8 i + place - (found + j).
    const __m512i base = _mm512_sub_epi32(_mm512_set1_epi32(static_cast<int>(8 * i - found)), lane);
    uint32_t* out = values + found;
    const size_t room = streams.n - found;
    auto put = [&](__m128i sixteen, int first) {
      __m512i sums = _mm512_add_epi32(base, _mm512_cvtepu8_epi32(sixteen));
      sums = _mm512_sll_epi32(_mm512_sub_epi32(sums, _mm512_set1_epi32(first)), shift);
      if (room >= 64) {
        _mm512_storeu_si512(out + first, sums);
      } else if (room > static_cast<size_t>(first)) {
        _mm512_mask_storeu_epi32(out + first, lanes_of(room - static_cast<size_t>(first)), sums);
      }
    };
    put(_mm512_castsi512_si128(places), 0);
    put(_mm512_extracti32x4_epi32(places, 1), 16);
    put(_mm512_extracti32x4_epi32(places, 2), 32);
    if (count > 48) put(_mm512_extracti32x4_epi32(places, 3), 48);
    found += count;
  }
}

uint32_t decode_remainders_avx512(const SetStreams& streams, uint32_t* values) {
  const size_t n = streams.n;
  const size_t plane_bytes = (n + 7) / 8;
  __m512i carry = _mm512_set1_epi32(-1);
  for (size_t i = 0; i < n; i += 16) {
    const __mmask16 lanes = lanes_of(n - i);
    __m512i remainders = _mm512_setzero_si512();
    int bit = 0;
    for (const uint8_t* plane = streams.planes + i; bit + 8 <= streams.b; bit += 8, plane += n) {
      __m512i wide = _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(lanes, plane));
      remainders = _mm512_or_si512(remainders, _mm512_sll_epi32(wide, _mm_cvtsi32_si128(bit)));
    }
    for (const uint8_t* plane = streams.bit_planes + i / 8; bit < streams.b; ++bit, plane += plane_bytes) {
      uint16_t bits;  // a plane is always followed by another stream, so two bytes are readable
      __builtin_memcpy(&bits, plane, 2);
      const __m512i one = _mm512_set1_epi32(static_cast<int>(1u << bit));
      remainders = _mm512_mask_or_epi32(remainders, bits & lanes, remainders, one);
    }
    __m512i steps = _mm512_maskz_add_epi32(lanes, remainders, _mm512_set1_epi32(1));
    __m512i sums = _mm512_add_epi32(running_sums(steps), carry);
    carry = last_lane(sums);
    __m512i v = _mm512_add_epi32(_mm512_maskz_loadu_epi32(lanes, values + i), sums);
    _mm512_mask_storeu_epi32(values + i, lanes, v);
  }
  return static_cast<uint32_t>(_mm_cvtsi128_si32(_mm512_castsi512_si128(carry)));
}

}  // namespace doppel
