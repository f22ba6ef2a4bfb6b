// The text kernels for AVX2 with BMI2.

#include <immintrin.h>

#include "text/kernels_simd.h"

namespace doppel {
namespace {

// Sets the bytes of v that are in [first, first + size) to 0xff. Bytes >= 0x80 never match.
inline __m256i in_range(__m256i v, char first, char size) {
  const __m256i moved = _mm256_sub_epi8(v, _mm256_set1_epi8(static_cast<char>(first - 128)));
  return _mm256_cmpgt_epi8(_mm256_set1_epi8(static_cast<char>(size - 128)), moved);
}

size_t copy_ascii(const uint8_t* in, size_t n, uint8_t* out) {
  size_t i = 0;
  const __m256i to_lower = _mm256_set1_epi8('a' - 'A');
  for (; i + 32 <= n; i += 32) {
    __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in + i));
    __m256i lower = _mm256_add_epi8(v, _mm256_and_si256(in_range(v, 'A', 26), to_lower));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), lower);
    uint32_t high = static_cast<uint32_t>(_mm256_movemask_epi8(v));
    if (high != 0) return i + static_cast<size_t>(__builtin_ctz(high));
  }
  for (; i < n && in[i] < 0x80; ++i) {
    bool upper = in[i] >= 'A' && in[i] <= 'Z';
    out[i] = static_cast<uint8_t>(in[i] + (upper ? 'a' - 'A' : 0));
  }
  return i;
}

inline uint32_t word_bits(const uint8_t* p) {
  __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  __m256i letter = _mm256_or_si256(in_range(v, 'a', 26), in_range(v, '0', 10));
  __m256i other = _mm256_or_si256(_mm256_cmpeq_epi8(v, _mm256_set1_epi8('_')), v);  // v supplies its top bit
  return static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_or_si256(letter, other)));
}

size_t find_edges(const uint8_t* text, size_t n, uint16_t offset, bool open, uint16_t* edges) {
  uint16_t* next = edges;
  uint64_t carry = open ? 1 : 0;
  for (size_t i = 0; i < n; i += 64) {
    uint64_t mask = word_bits(text + i) | static_cast<uint64_t>(word_bits(text + i + 32)) << 32;
    uint64_t change = mask ^ (mask << 1 | carry);
    if (n - i < 64) change &= (uint64_t{1} << (n - i)) - 1;
    carry = mask >> 63;
    const int count = __builtin_popcountll(change);
    const uint32_t base = static_cast<uint32_t>(offset + i);
    // Always stores a multiple of eight; the next block overwrites the surplus.
    for (int done = 0; done < count; done += 8) {
      for (int k = 0; k < 8; ++k) {
        next[done + k] = static_cast<uint16_t>(base + static_cast<uint32_t>(_tzcnt_u64(change)));
        change = _blsr_u64(change);
      }
    }
    next += count;
  }
  return static_cast<size_t>(next - edges);
}

inline __m256i multiply(__m256i x) {
  const __m256i factor = _mm256_set1_epi64x(static_cast<long long>(kMixFactor));
  const __m256i swapped = _mm256_shuffle_epi32(factor, 0xb1);
  __m256i cross = _mm256_mullo_epi32(x, swapped);
  cross = _mm256_slli_epi64(_mm256_add_epi32(cross, _mm256_srli_epi64(cross, 32)), 32);
  return _mm256_add_epi64(_mm256_mul_epu32(x, factor), cross);
}

inline __m256i mixed(__m256i x) {
  x = multiply(_mm256_xor_si256(x, _mm256_srli_epi64(x, 32)));
  return _mm256_xor_si256(x, _mm256_srli_epi64(x, 32));
}

inline __m256i load_hashes(const uint64_t* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}
inline void store_hashes(uint64_t* p, __m256i x) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), x); }

void hash_words(const uint8_t* text, const uint16_t* edges, size_t count, const WordKeys& keys,
                uint64_t* out) {
  hash_words_unmixed(text, edges, count, keys, out);
  for (size_t i = 0; i < count; i += 4) store_hashes(out + i, mixed(load_hashes(out + i)));
}

inline __m256i sum_of(const uint64_t* hashes, int words) {
  __m256i sum = load_hashes(hashes);
  for (int j = 1; j < words; ++j) {
    if (j % kShingleGroup == 0) sum = mixed(sum);
    __m256i rotated = _mm256_or_si256(_mm256_slli_epi64(sum, kShingleRotation),
                                      _mm256_srli_epi64(sum, 64 - kShingleRotation));
    sum = _mm256_add_epi64(rotated, load_hashes(hashes + j));
  }
  return mixed(sum);
}

template <int kWords>
void combine_fixed(const uint64_t* hashes, size_t count, int words, uint64_t* out) {
  const int n = kWords != 0 ? kWords : words;
  size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    store_hashes(out + i, sum_of(hashes + i, n));
  }
  if (i < count) {
    alignas(32) uint64_t last[4];
    _mm256_store_si256(reinterpret_cast<__m256i*>(last), sum_of(hashes + i, n));
    for (size_t k = 0; i + k < count; ++k) out[i + k] = last[k];
  }
}

void combine(const uint64_t* hashes, size_t count, int words, uint64_t* out) {
  words == 5 ? combine_fixed<5>(hashes, count, words, out) : combine_fixed<0>(hashes, count, words, out);
}

}  // namespace

const TextKernels kTextAvx2 = {copy_ascii, nullptr, nullptr, find_edges, hash_words, combine};

}  // namespace doppel
