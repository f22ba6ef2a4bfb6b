// The text kernels for AVX-512 with VBMI and VBMI2.

#if !defined(__clang__)
// g++ 12 warns about the undefined operands inside its own intrinsics.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>

#include "text/kernels_simd.h"
#include "text/unicode.h"

namespace doppel {
namespace {

uint64_t first_bits(size_t n) { return n >= 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1; }

__m512i load_part(const uint8_t* p, size_t n) {
  return n >= 64 ? _mm512_loadu_si512(p) : _mm512_maskz_loadu_epi8(first_bits(n), p);
}

__m512i lower_case(__m512i v) {
  const __mmask64 upper =
      _mm512_cmplt_epu8_mask(_mm512_sub_epi8(v, _mm512_set1_epi8('A')), _mm512_set1_epi8(26));
  return _mm512_mask_add_epi8(v, upper, v, _mm512_set1_epi8('a' - 'A'));
}

size_t copy_ascii(const uint8_t* in, size_t n, uint8_t* out) {
  for (size_t i = 0; i < n; i += 64) {
    const __m512i v = load_part(in + i, n - i);
    _mm512_storeu_si512(out + i, lower_case(v));
    const uint64_t high = _mm512_movepi8_mask(v);
    if (high != 0) return i + static_cast<size_t>(__builtin_ctzll(high));
  }
  return n;
}

// 1 << (v & 7)
__m512i bit_of(__m512i v) {
  return _mm512_shuffle_epi8(_mm512_set1_epi64(static_cast<long long>(0x8040201008040201u)),
                             _mm512_and_si512(v, _mm512_set1_epi8(7)));
}

// Marks the second bytes of two-byte sequences whose code point is an ordinary letter that normalises to
// itself.
uint64_t plain_letters(__m512i lead, __m512i v) {
  // Bits 3 to 10 of the code point select a byte of the table, bits 0 to 2 a bit in it.
  const __m512i row = _mm512_or_si512(_mm512_and_si512(_mm512_slli_epi16(lead, 3), _mm512_set1_epi8(-8)),
                                      _mm512_and_si512(_mm512_srli_epi16(v, 3), _mm512_set1_epi8(7)));
  const __m512i lower_half = _mm512_permutex2var_epi8(_mm512_load_si512(unicode::kPlainLetters), row,
                                                      _mm512_load_si512(unicode::kPlainLetters + 64));
  const __m512i upper_half = _mm512_permutex2var_epi8(_mm512_load_si512(unicode::kPlainLetters + 128), row,
                                                      _mm512_load_si512(unicode::kPlainLetters + 192));
  const __m512i byte = _mm512_mask_blend_epi8(_mm512_movepi8_mask(row), lower_half, upper_half);
  return _mm512_test_epi8_mask(byte, bit_of(v));
}

size_t copy_letters(const uint8_t* in, size_t n, uint8_t* out) {
  size_t i = 0;
  while (i < n) {  // in[i] begins a character
    const __m512i v = load_part(in + i, n - i);
    _mm512_storeu_si512(out + i, lower_case(v));
    const uint64_t high = _mm512_movepi8_mask(v);
    if (high == 0) {
      i += 64;
      continue;
    }
    const uint64_t lead = _mm512_cmpge_epu8_mask(v, _mm512_set1_epi8(static_cast<char>(0xc0)));
    const uint64_t long_lead = _mm512_cmpge_epu8_mask(v, _mm512_set1_epi8(static_cast<char>(0xe0)));
    const uint64_t after_lead = lead << 1;
    // The byte before each byte. The one before in[i] does not matter.
    const __m512i previous = _mm512_maskz_loadu_epi8(~uint64_t{1} & first_bits(n - i), in + i - 1);
    const uint64_t continuation = high & ~lead;
    const uint64_t bad = long_lead | (after_lead & ~continuation) |
                         (continuation & ~(after_lead & plain_letters(previous, v)));
    if (bad != 0) {
      const int at = __builtin_ctzll(bad);
      return i + static_cast<size_t>(at) - (after_lead >> at & 1);
    }
    i += 64 - (lead >> 63);
  }
  return n;
}

// Marks the first bytes of three-byte sequences of plain Han, Hiragana or Katakana characters, given the two
// bytes after each byte. The result for continuation bytes is meaningless.
uint64_t plain_singles(__m512i first, __m512i second, __m512i third) {
  const auto below = [](__m512i v, int from, int size) {
    return _mm512_cmplt_epu8_mask(_mm512_sub_epi8(v, _mm512_set1_epi8(static_cast<char>(from))),
                                  _mm512_set1_epi8(static_cast<char>(size)));
  };
  const uint64_t continued = below(second, 0x80, 0x40) & below(third, 0x80, 0x40);
  // U+4E00 is e4 b8 80, U+9FFF is e9 bf bf.
  const uint64_t han = below(first, 0xe4, 6) & ~(below(first, 0xe4, 1) & below(second, 0x80, 0x38));
  // U+3000 is e3 80 80, U+30FF is e3 83 bf.
  const uint64_t kana_block = below(first, 0xe3, 1) & below(second, 0x80, 4);
  const __m512i row = _mm512_or_si512(_mm512_and_si512(_mm512_slli_epi16(second, 3), _mm512_set1_epi8(0x18)),
                                      _mm512_and_si512(_mm512_srli_epi16(third, 3), _mm512_set1_epi8(7)));
  const __m512i byte = _mm512_permutexvar_epi8(row, _mm512_load_si512(unicode::kPlainKana));
  const uint64_t kana = kana_block & _mm512_test_epi8_mask(byte, bit_of(third));
  return continued & (han | kana);
}

size_t copy_singles(const uint8_t* in, size_t n, uint8_t* out, size_t room) {
  // 16 characters of 3 bytes become 16 of 4.
  alignas(64) static constexpr struct Spread {
    uint8_t bytes[64];
    constexpr Spread() : bytes{} {
      for (int i = 0; i < 64; ++i) bytes[i] = static_cast<uint8_t>(i / 4 * 3 + (i % 4 == 0 ? 0 : i % 4 - 1));
    }
  } kSpread;
  constexpr uint64_t kFirsts = 0x249249249249;  // every third of 48 bits
  const __m512i spread = _mm512_load_si512(kSpread.bytes);
  size_t done = 0;
  while (n - 3 * done >= 66 && room - 4 * done >= 64) {
    const uint8_t* p = in + 3 * done;
    const __m512i v = _mm512_loadu_si512(p);
    const uint64_t bad = kFirsts & ~plain_singles(v, _mm512_loadu_si512(p + 1), _mm512_loadu_si512(p + 2));
    _mm512_storeu_si512(out + 4 * done,
                        _mm512_mask_permutexvar_epi8(_mm512_set1_epi8(' '), 0xeeeeeeeeeeeeeeee, spread, v));
    if (bad != 0) return done + static_cast<size_t>(__builtin_ctzll(bad)) / 3;
    done += 16;
  }
  return done;
}

size_t find_edges(const uint8_t* text, size_t n, uint16_t offset, bool open, uint16_t* edges) {
  // Bit 7 of entry c says whether the ASCII character c belongs to words.
  alignas(64) static constexpr struct Table {
    uint8_t bytes[128];
    constexpr Table() : bytes{} {
      for (int c = 0; c < 128; ++c) {
        bytes[c] = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ? 0x80 : 0;
      }
    }
  } kTable;
  const __m512i table_low = _mm512_load_si512(kTable.bytes);
  const __m512i table_high = _mm512_load_si512(kTable.bytes + 64);
  alignas(64) static constexpr struct Iota {
    uint8_t bytes[64];
    constexpr Iota() : bytes{} {
      for (int i = 0; i < 64; ++i) bytes[i] = static_cast<uint8_t>(i);
    }
  } kIota;
  const __m512i iota = _mm512_load_si512(kIota.bytes);
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

const TextKernels kTextAvx512 = {copy_ascii, copy_letters, copy_singles, find_edges, hash_words, combine};

}  // namespace doppel
