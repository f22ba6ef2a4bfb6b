// The text kernels for NEON. It cannot multiply words of 64 bits, so the hashes are computed one by one.

#include "base/neon.h"
#include "text/kernels_simd.h"

namespace doppel {
namespace {

// Sets the bytes of v that are in [first, first + size) to 0xff.
inline uint8x16_t in_range(uint8x16_t v, char first, uint8_t size) {
  return vcltq_u8(vsubq_u8(v, vdupq_n_u8(static_cast<uint8_t>(first))), vdupq_n_u8(size));
}

size_t copy_ascii(const uint8_t* in, size_t n, uint8_t* out) {
  size_t i = 0;
  const uint8x16_t to_lower = vdupq_n_u8('a' - 'A');
  for (; i + 16 <= n; i += 16) {
    const uint8x16_t v = vld1q_u8(in + i);
    vst1q_u8(out + i, vaddq_u8(v, vandq_u8(in_range(v, 'A', 26), to_lower)));
    // Four bits for each byte.
    const uint8x8_t high = vshrn_n_u16(vreinterpretq_u16_u8(vcltzq_s8(vreinterpretq_s8_u8(v))), 4);
    const uint64_t bits = vget_lane_u64(vreinterpret_u64_u8(high), 0);
    if (bits != 0) return i + static_cast<size_t>(__builtin_ctzll(bits) / 4);
  }
  for (; i < n && in[i] < 0x80; ++i) {
    const bool upper = in[i] >= 'A' && in[i] <= 'Z';
    out[i] = static_cast<uint8_t>(in[i] + (upper ? 'a' - 'A' : 0));
  }
  return i;
}

inline uint8x16_t in_word(const uint8_t* p) {
  const uint8x16_t v = vld1q_u8(p);
  const uint8x16_t letter = vorrq_u8(in_range(v, 'a', 26), in_range(v, '0', 10));
  return vorrq_u8(letter, vorrq_u8(vceqq_u8(v, vdupq_n_u8('_')), vcgeq_u8(v, vdupq_n_u8(0x80))));
}

size_t find_edges(const uint8_t* text, size_t n, uint16_t offset, bool open, uint16_t* edges) {
  uint16_t* next = edges;
  uint64_t carry = open ? 1 : 0;
  for (size_t i = 0; i < n; i += 64) {
    const uint64_t mask =
        bits_of(in_word(text + i), in_word(text + i + 16), in_word(text + i + 32), in_word(text + i + 48));
    uint64_t change = mask ^ (mask << 1 | carry);
    if (n - i < 64) change &= (uint64_t{1} << (n - i)) - 1;
    carry = mask >> 63;
    for (; change != 0; change &= change - 1)
      *next++ = static_cast<uint16_t>(offset + i + static_cast<size_t>(__builtin_ctzll(change)));
  }
  return static_cast<size_t>(next - edges);
}

void hash_words(const uint8_t* text, const uint16_t* edges, size_t count, const WordKeys& keys,
                uint64_t* out) {
  hash_words_unmixed(text, edges, count, keys, out);
  for (size_t i = 0; i < count; ++i) out[i] = mix_once(out[i]);
}

void combine(const uint64_t* hashes, size_t count, int words, uint64_t* out) {
  if (words == 5) {
    for (size_t i = 0; i < count; ++i) out[i] = hash_shingle(hashes + i, 5);
  } else {
    for (size_t i = 0; i < count; ++i) out[i] = hash_shingle(hashes + i, words);
  }
}

}  // namespace

extern const TextKernels kTextNeon = {copy_ascii, nullptr, nullptr, find_edges, hash_words, combine};

}  // namespace doppel
