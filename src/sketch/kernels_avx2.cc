// The kernels of sketch/ with AVX2.

#include <immintrin.h>

#include "sketch/fast_rounds.h"
#include "sketch/overlap.h"
#include "sketch/prints.h"
#include "sketch/radix_sort.h"
#include "sketch/set_coding.h"

namespace doppel {

// Fast similarity sketching, as with AVX-512, with eight shingles at a time.
namespace {

inline __m256i load256(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
inline void store256(void* p, __m256i v) { _mm256_storeu_si256(static_cast<__m256i*>(p), v); }

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

namespace {

// Compares all values of a block of eight of `a` with all of a block of `b`, then advances the array whose
// block has the smaller last value. No branch depends on a value. Matches accumulate for b's block until it
// is advanced; of values of b that are equal after the shift, only the first counts.
//
// Sixteen lanes of AVX-512 were not faster: the dependency from a block's last value to the next block
// dominates.

constexpr size_t kBlock = 8;

inline __m256i load_shifted(const uint32_t* b, int shift) {
  return _mm256_srl_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(b)), _mm_cvtsi32_si128(shift));
}
inline unsigned bits_of(__m256i lanes) {
  return static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(lanes)));
}
inline unsigned equal(__m256i x, __m256i y) { return bits_of(_mm256_cmpeq_epi32(x, y)); }

// Returns the lanes of x whose value is in a[0..8).
inline unsigned matches(__m256i x, const uint32_t* a) {
  __m256i any = _mm256_setzero_si256();
  for (size_t i = 0; i < kBlock; ++i) {
    any = _mm256_or_si256(any, _mm256_cmpeq_epi32(x, _mm256_set1_epi32(static_cast<int>(a[i]))));
  }
  return bits_of(any);
}

}  // namespace

Marked mark_common_avx2(std::span<const uint32_t> values, int shift, std::span<const uint32_t> other,
                        int other_shift, uint32_t* marks) {
  size_t i = 0, j = 0;
  __m256i found = _mm256_setzero_si256();
  while (i + kBlock <= values.size() && j + kBlock <= other.size()) {
    const __m256i own = load_shifted(&values[i], shift);
    const __m256i theirs = load_shifted(&other[j], other_shift);
    __m256i turned = theirs;
    const __m256i turn = _mm256_setr_epi32(1, 2, 3, 4, 5, 6, 7, 0);
    for (size_t t = 0; t < kBlock; ++t) {
      found = _mm256_or_si256(found, _mm256_cmpeq_epi32(own, turned));
      turned = _mm256_permutevar8x32_epi32(turned, turn);
    }
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(marks + i), found);
    // If both blocks end with the same value, the next block of `values` may begin with it.
    const bool next = values[i + kBlock - 1] >> shift <= other[j + kBlock - 1] >> other_shift;
    found = _mm256_and_si256(found, _mm256_set1_epi32(next ? 0 : -1));
    i += next ? kBlock : 0;
    j += next ? 0 : kBlock;
  }
  return {i, j};
}

size_t common_values_avx2(const uint32_t* a, size_t na, const uint32_t* b, size_t nb, int shift) {
  // The values after the whole blocks, padded with the last value. In `a` padding changes nothing. In `b`
  // padding is a repeat, which does not count; to see repeats, b's block also needs the value before it.
  size_t left_a = na % kBlock;
  size_t left_b = nb % kBlock;
  uint32_t rest_a[kBlock];
  uint32_t rest_b[1 + kBlock];
  rest_b[0] = nb > left_b ? b[nb - left_b - 1] : 0;
  for (size_t i = 0; i < kBlock; ++i) {
    rest_a[i] = i < left_a ? a[na - left_a + i] : a[na - 1];
    rest_b[1 + i] = i < left_b ? b[nb - left_b + i] : b[nb - 1];
  }
  const uint32_t* end_a = a + (na - left_a);
  const uint32_t* end_b = b + (nb - left_b);
  bool is_start = true;  // b's first block has no value before it
  size_t common = 0;
  unsigned found = 0;
  auto count_found = [&](__m256i values) {
    const __m256i previous_lanes =
        _mm256_permutevar8x32_epi32(values, _mm256_setr_epi32(0, 0, 1, 2, 3, 4, 5, 6));
    const unsigned repeats =
        is_start ? equal(values, previous_lanes) & ~1u : equal(values, load_shifted(b - 1, shift));
    return static_cast<size_t>(__builtin_popcount(found & ~repeats));
  };
  for (;;) {
    while (a != end_a && b != end_b) {
      const __m256i values = load_shifted(b, shift);
      found |= matches(values, a);
      const uint32_t last_a = a[kBlock - 1];
      const uint32_t last_b = b[kBlock - 1] >> shift;
      const bool next_b = last_b <= last_a;
      common += next_b ? count_found(values) : 0;
      found = next_b ? 0 : found;
      is_start = is_start && !next_b;
      a += last_a <= last_b ? kBlock : 0;
      b += next_b ? kBlock : 0;
    }
    if (a == end_a) {
      if (left_a == 0) break;
      left_a = 0;
      a = rest_a;
      end_a = rest_a + kBlock;
    }
    if (b == end_b) {
      if (left_b == 0) break;
      left_b = 0;
      b = rest_b + 1;
      end_b = rest_b + 1 + kBlock;
    }
  }
  return found == 0 ? common : common + count_found(load_shifted(b, shift));
}

size_t distinct_shifted_avx2(const uint32_t* b, size_t nb, int shift) {
  size_t repeats = 0;
  size_t j = 1;
  for (; j + kBlock <= nb; j += kBlock) {
    const unsigned same = equal(load_shifted(b + j, shift), load_shifted(b + j - 1, shift));
    repeats += static_cast<size_t>(__builtin_popcount(same));
  }
  for (; j < nb; ++j) repeats += b[j] >> shift == b[j - 1] >> shift;
  return nb - repeats;
}

namespace {

uint32_t lanes_equal(__m256i x, __m256i y) {
  return static_cast<uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(x, y))));
}

void smaller(const uint32_t* a, const uint32_t* b, size_t n, uint32_t* out) {
  size_t i = 0;
  for (; i + 8 <= n; i += 8) store256(out + i, _mm256_min_epu32(load256(a + i), load256(b + i)));
  for (; i < n; ++i) out[i] = b[i] < a[i] ? b[i] : a[i];
}

size_t find_changes(const uint32_t* values, size_t n, uint32_t* out) {
  size_t count = 0;
  out[count++] = 0;
  size_t i = 1;
  for (; i + 8 <= n; i += 8) {
    uint32_t differ = ~lanes_equal(load256(values + i), load256(values + i - 1)) & 0xff;
    size_t to = count;
    count += static_cast<size_t>(_mm_popcnt_u32(differ));
    // Two changes are always written: how many there are is unpredictable, and there are rarely more.
    do {
      out[to++] = static_cast<uint32_t>(i) + _tzcnt_u32(differ);
      differ = _blsr_u32(differ);
      out[to++] = static_cast<uint32_t>(i) + _tzcnt_u32(differ);
      differ = _blsr_u32(differ);
    } while (differ != 0);
  }
  for (; i < n; ++i) {
    if (values[i] != values[i - 1]) out[count++] = static_cast<uint32_t>(i);
  }
  return count;
}

// No branch depends on the place of the value, which is unpredictable.
size_t last_of(const uint32_t* values, size_t n, uint32_t value) {
  if (n < 8) {
    while (values[n - 1] != value) --n;
    return n - 1;
  }
  // The last block overlaps the others.
  const __m256i wanted = _mm256_set1_epi32(static_cast<int>(value));
  uint32_t at = lanes_equal(load256(values + n - 8), wanted) << (n - 8);
  for (size_t i = 0; i + 8 < n; i += 8) at |= lanes_equal(load256(values + i), wanted) << i;
  return 31 - _lzcnt_u32(at);
}

}  // namespace

extern const PrintKernels kPrintKernelsAvx2{smaller, minima_by<find_changes, last_of>};

namespace {

// counts[i] = the sum of all counts before it; `size` is a multiple of 16.
inline void running_starts(uint16_t* counts, size_t size) {
  __m256i carry = _mm256_setzero_si256();  // the total so far, in every lane
  const __m256i last_word = _mm256_set1_epi16(0x0f0e);
  for (size_t i = 0; i < size; i += 16) {
    __m256i x = load256(counts + i);
    __m256i sums = _mm256_add_epi16(x, _mm256_slli_si256(x, 2));
    sums = _mm256_add_epi16(sums, _mm256_slli_si256(sums, 4));
    sums = _mm256_add_epi16(sums, _mm256_slli_si256(sums, 8));
    // Each half has its own running sums; the upper half still lacks the lower half's total.
    __m256i totals = _mm256_shuffle_epi8(sums, last_word);
    __m256i lower_total = _mm256_permute2x128_si256(totals, totals, 0x08);
    store256(counts + i, _mm256_add_epi16(_mm256_sub_epi16(sums, x), _mm256_add_epi16(carry, lower_total)));
    __m256i both = _mm256_add_epi16(totals, _mm256_permute2x128_si256(totals, totals, 0x01));
    carry = _mm256_add_epi16(carry, both);
  }
}

// Orders every second pair of neighbours, starting at v[0] or v[1]. Returns whether any pair was out of
// order.
inline bool sweep(uint32_t* v, size_t n) {
  __m256i changed = _mm256_setzero_si256();
  for (size_t i = 0; i < n; i += 8) {
    __m256i x = load256(v + i);
    __m256i swapped = _mm256_shuffle_epi32(x, 0xb1);
    __m256i ordered = _mm256_blend_epi32(_mm256_min_epu32(x, swapped), _mm256_max_epu32(x, swapped), 0xaa);
    changed = _mm256_or_si256(changed, _mm256_xor_si256(x, ordered));
    store256(v + i, ordered);
  }
  return _mm256_testz_si256(changed, changed) == 0;
}

}  // namespace

bool bucket_sort_avx2(const uint32_t* values, size_t n, uint32_t* sorted) {
  return bucket_sort_by(values, n, sorted, running_starts, sweep);
}

size_t count_distinct_avx2(const uint32_t* sorted, size_t n) {
  size_t repeats = 0;
  size_t i = 1;
  for (; i + 8 <= n; i += 8) {
    __m256i same = _mm256_cmpeq_epi32(load256(sorted + i), load256(sorted + i - 1));
    repeats += static_cast<size_t>(__builtin_popcount(_mm256_movemask_ps(_mm256_castsi256_ps(same))));
  }
  for (; i < n; ++i) repeats += sorted[i] == sorted[i - 1];
  return n - repeats;
}

size_t shift_distinct_avx2(uint32_t* values, size_t n, int shift) {
  const __m128i count = _mm_cvtsi32_si128(shift);
  size_t kept = 0;
  size_t i = 0;
  // Keeps the last one of equal values. Writing never overtakes reading: kept <= i.
  for (; i + 9 <= n; i += 8) {
    __m256i v = _mm256_srl_epi32(load256(values + i), count);
    __m256i next = _mm256_srl_epi32(load256(values + i + 1), count);
    auto repeats =
        static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(v, next))));
    if (repeats == 0) {
      store256(values + kept, v);
      kept += 8;
    } else {
      alignas(32) uint32_t lanes[8];
      _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), v);
      for (int j = 0; j < 8; ++j) {
        values[kept] = lanes[j];
        kept += 1 - (repeats >> j & 1);
      }
    }
  }
  for (; i < n; ++i) {
    const uint32_t value = values[i] >> shift;
    values[kept] = value;
    kept += i + 1 == n || values[i + 1] >> shift != value;
  }
  return kept;
}

// The streams of a compact set, eight values at a time.

void encode_streams_avx2(const uint32_t* values, const SetStreams& streams) {
  constexpr size_t kFlags = 8'192;  // bits of a bitmap that is built from one byte for each bit
  if (8 * streams.quotient_bytes > kFlags) return encode_streams_scalar(values, streams);
  alignas(32) uint8_t flags[kFlags];
  for (size_t i = 0; i < 8 * streams.quotient_bytes; i += 32) store256(flags + i, _mm256_setzero_si256());
  const size_t plane_bytes = (streams.n + 7) / 8;
  const __m256i low_bytes = _mm256_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0,
                                             4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
  uint32_t position = ~uint32_t{0};
  for (size_t i = 0; i < streams.n; i += 8) {
    const size_t count = streams.n - i < 8 ? streams.n - i : 8;
    alignas(32) uint32_t some[8] = {};
    __m256i gaps;
    if (i != 0 && count == 8) {
      gaps = _mm256_add_epi32(_mm256_sub_epi32(load256(values + i), load256(values + i - 1)),
                              _mm256_set1_epi32(-1));
    } else {
      for (size_t j = 0; j < count; ++j)
        some[j] = i + j == 0 ? values[0] : values[i + j] - values[i + j - 1] - 1;
      gaps = load256(some);
    }
    int bit = 0;
    for (uint8_t* plane = streams.planes + i; bit + 8 <= streams.b; bit += 8, plane += streams.n) {
      const __m256i bytes = _mm256_shuffle_epi8(_mm256_srl_epi32(gaps, _mm_cvtsi32_si128(bit)), low_bytes);
      const __m128i eight =
          _mm_unpacklo_epi32(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1));
      alignas(16) uint64_t two[2];
      _mm_store_si128(reinterpret_cast<__m128i*>(two), eight);
      __builtin_memcpy(plane, two, count);
    }
    for (uint8_t* plane = streams.bit_planes + i / 8; bit < streams.b; ++bit, plane += plane_bytes) {
      const __m256i top = _mm256_sll_epi32(gaps, _mm_cvtsi32_si128(31 - bit));
      *plane = static_cast<uint8_t>(_mm256_movemask_ps(_mm256_castsi256_ps(top)));
    }
    store256(some, _mm256_srl_epi32(gaps, _mm_cvtsi32_si128(streams.b)));
    for (size_t j = 0; j < count; ++j) {
      position += some[j] + 1;
      flags[position] = 1;
    }
  }
  for (size_t i = 0; i < streams.quotient_bytes; i += 4) {
    const auto bits = static_cast<uint32_t>(
        _mm256_movemask_epi8(_mm256_cmpgt_epi8(load256(flags + 8 * i), _mm256_setzero_si256())));
    const size_t rest = streams.quotient_bytes - i;
    __builtin_memcpy(streams.quotients + i, &bits, rest < 4 ? rest : 4);
  }
}

uint32_t decode_remainders_avx2(const SetStreams& streams, uint32_t* values) {
  const size_t plane_bytes = (streams.n + 7) / 8;
  const __m256i lanes = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  uint32_t sum = ~uint32_t{0};
  for (size_t i = 0; i < streams.n; i += 8) {
    const size_t count = streams.n - i < 8 ? streams.n - i : 8;
    __m256i remainders = _mm256_setzero_si256();
    int bit = 0;
    for (const uint8_t* plane = streams.planes + i; bit + 8 <= streams.b; bit += 8, plane += streams.n) {
      uint64_t eight = 0;
      __builtin_memcpy(&eight, plane, count);
      const __m256i wide = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<long long>(eight)));
      remainders = _mm256_or_si256(remainders, _mm256_sll_epi32(wide, _mm_cvtsi32_si128(bit)));
    }
    for (const uint8_t* plane = streams.bit_planes + i / 8; bit < streams.b; ++bit, plane += plane_bytes) {
      const __m256i set = _mm256_and_si256(_mm256_set1_epi32(*plane), lanes);
      const __m256i one = _mm256_and_si256(_mm256_cmpeq_epi32(set, lanes),
                                           _mm256_sll_epi32(_mm256_set1_epi32(1), _mm_cvtsi32_si128(bit)));
      remainders = _mm256_or_si256(remainders, one);
    }
    __m256i sums = _mm256_add_epi32(remainders, _mm256_set1_epi32(1));
    sums = _mm256_add_epi32(sums, _mm256_slli_si256(sums, 4));
    sums = _mm256_add_epi32(sums, _mm256_slli_si256(sums, 8));
    const __m256i lower =
        _mm256_permutevar8x32_epi32(sums, _mm256_set1_epi32(3));  // the sum of the lower half
    sums = _mm256_add_epi32(sums, _mm256_blend_epi32(_mm256_setzero_si256(), lower, 0xf0));
    sums = _mm256_add_epi32(sums, _mm256_set1_epi32(static_cast<int>(sum)));
    alignas(32) uint32_t lane_sums[8];
    store256(lane_sums, sums);
    sum = lane_sums[count - 1];
    if (count == 8) {
      store256(values + i, _mm256_add_epi32(load256(values + i), sums));
    } else {
      for (size_t j = 0; j < count; ++j) values[i + j] += lane_sums[j];
    }
  }
  return sum;
}

}  // namespace doppel
