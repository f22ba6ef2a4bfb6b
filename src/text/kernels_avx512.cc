// The text kernels for AVX-512 with VBMI and VBMI2.

#if defined(__x86_64__)
#if !defined(__clang__)
// g++ 12 takes the "undefined" registers of its own intrinsics for a mistake of ours.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>

#include "text/kernels_simd.h"

namespace doppel {
namespace {

uint64_t first_bits(size_t n) { return n >= 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1; }

size_t copy_ascii(const uint8_t* in, size_t n, uint8_t* out) {
  const __m512i before_a = _mm512_set1_epi8('A');
  const __m512i letters = _mm512_set1_epi8(26);
  const __m512i to_lower = _mm512_set1_epi8('a' - 'A');
  for (size_t i = 0; i < n; i += 64) {
    __m512i v = n - i >= 64 ? _mm512_loadu_si512(in + i) : _mm512_maskz_loadu_epi8(first_bits(n - i), in + i);
    __mmask64 upper = _mm512_cmplt_epu8_mask(_mm512_sub_epi8(v, before_a), letters);
    _mm512_storeu_si512(out + i, _mm512_mask_add_epi8(v, upper, v, to_lower));
    __mmask64 high = _mm512_movepi8_mask(v);
    if (high != 0) return i + static_cast<size_t>(__builtin_ctzll(high));
  }
  return n;
}

size_t find_edges(const uint8_t* text, size_t n, uint16_t offset, bool open, uint16_t* edges) {
  // Bit 7 of entry c says whether the ASCII character c belongs to words.
  alignas(64) static constexpr struct Table {
    uint8_t of[128];
    constexpr Table() : of{} {
      for (int c = 0; c < 128; ++c) {
        of[c] = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ? 0x80 : 0;
      }
    }
  } kTable;
  const __m512i table_low = _mm512_load_si512(kTable.of);
  const __m512i table_high = _mm512_load_si512(kTable.of + 64);
  alignas(64) static constexpr struct Iota {
    uint8_t of[64];
    constexpr Iota() : of{} {
      for (int i = 0; i < 64; ++i) of[i] = static_cast<uint8_t>(i);
    }
  } kIota;
  const __m512i iota = _mm512_load_si512(kIota.of);
  uint16_t* next = edges;
  uint64_t carry = open ? 1 : 0;
  __m512i base = _mm512_set1_epi16(static_cast<short>(offset));
  const __m512i step = _mm512_set1_epi16(64);
  for (size_t i = 0; i < n; i += 64) {
    __m512i v = _mm512_loadu_si512(text + i);
    __m512i word = _mm512_or_si512(_mm512_permutex2var_epi8(table_low, v, table_high), v);
    uint64_t mask = _mm512_movepi8_mask(word);
    uint64_t change = (mask ^ (mask << 1 | carry)) & first_bits(n - i);
    carry = mask >> 63;
    __m512i at = _mm512_maskz_compress_epi8(change, iota);
    size_t count = static_cast<size_t>(__builtin_popcountll(change));
    _mm512_storeu_si512(next, _mm512_add_epi16(_mm512_cvtepu8_epi16(_mm512_castsi512_si256(at)), base));
    if (__builtin_expect(count > 32, 0)) {
      __m512i rest = _mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64(at, 1));
      _mm512_storeu_si512(next + 32, _mm512_add_epi16(rest, base));
    }
    next += count;
    base = _mm512_add_epi16(base, step);
  }
  return static_cast<size_t>(next - edges);
}

inline __m512i mixed(__m512i x) {
  const __m512i factor = _mm512_set1_epi64(static_cast<long long>(kMixFactor));
  x = _mm512_mullo_epi64(_mm512_xor_si512(x, _mm512_srli_epi64(x, 32)), factor);
  return _mm512_xor_si512(x, _mm512_srli_epi64(x, 32));
}

void hash_words(const uint8_t* text, const uint16_t* edges, size_t count, const WordKeys& keys,
                uint64_t* out) {
  hash_words_unmixed(text, edges, count, keys, out);
  for (size_t i = 0; i < count; i += 8) _mm512_storeu_si512(out + i, mixed(_mm512_loadu_si512(out + i)));
}

inline __m512i sum_of(const uint64_t* hashes, int words) {
  __m512i sum = _mm512_loadu_si512(hashes);
  for (int j = 1; j < words; ++j) {
    if (j % kShingleGroup == 0) sum = mixed(sum);
    sum = _mm512_add_epi64(_mm512_rol_epi64(sum, kShingleRotation), _mm512_loadu_si512(hashes + j));
  }
  return mixed(sum);
}

template <int kWords>
void combine_fixed(const uint64_t* hashes, size_t count, int words, uint64_t* out) {
  const int n = kWords != 0 ? kWords : words;
  size_t i = 0;
  for (; i + 8 <= count; i += 8) _mm512_storeu_si512(out + i, sum_of(hashes + i, n));
  if (i < count) {
    _mm512_mask_storeu_epi64(out + i, static_cast<__mmask8>(first_bits(count - i)), sum_of(hashes + i, n));
  }
}

void combine(const uint64_t* hashes, size_t count, int words, uint64_t* out) {
  words == 5 ? combine_fixed<5>(hashes, count, words, out) : combine_fixed<0>(hashes, count, words, out);
}

}  // namespace

const TextKernels kTextAvx512 = {copy_ascii, find_edges, hash_words, combine};

}  // namespace doppel
#endif
