#include "base/sha1.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>

#include "base/simd.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace doppel {
namespace {

using State = std::array<uint32_t, 5>;

#if defined(__x86_64__)
// Whether the processor has the SHA instructions, which belong to no Simd level.
bool has_instructions() {
  uint32_t a = 0, b = 0, c = 0, d = 0;
  constexpr uint32_t kSha = 1u << 29;
  return __builtin_cpu_supports("sse4.1") && __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & kSha) != 0;
}

// Four rounds at a time. `e` follows from the `abcd` of four rounds before, and four message words follow
// from the sixteen before them. The registers hold the first word in the highest lane.
__attribute__((target("sha,sse4.1"))) void by_instructions(State& state, const uint8_t* bytes,
                                                           size_t blocks) {
  const __m128i reverse = _mm_set_epi64x(0x0001020304050607, 0x08090a0b0c0d0e0f);
  __m128i abcd = _mm_shuffle_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(state.data())), 0x1b);
  __m128i e = _mm_set_epi32(static_cast<int>(state[4]), 0, 0, 0);
  for (; blocks != 0; --blocks, bytes += 64) {
    const __m128i abcd_before = abcd, e_before = e;
    __m128i w[4];
    for (int i = 0; i < 4; ++i) {
      w[i] = _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes) + i), reverse);
    }
    __m128i four_before = abcd;
#define DOPPEL_TWENTY_ROUNDS(kind)                                                    \
  _Pragma("GCC unroll 5") for (int i = 5 * (kind); i < 5 * (kind) + 5; ++i) {         \
    __m128i& four = w[i % 4];                                                         \
    if (i >= 4) {                                                                     \
      four = _mm_sha1msg1_epu32(four, w[(i + 1) % 4]);                                \
      four = _mm_sha1msg2_epu32(_mm_xor_si128(four, w[(i + 2) % 4]), w[(i + 3) % 4]); \
    }                                                                                 \
    e = i == 0 ? _mm_add_epi32(e, four) : _mm_sha1nexte_epu32(four_before, four);     \
    four_before = abcd;                                                               \
    abcd = _mm_sha1rnds4_epu32(abcd, e, kind);                                        \
  }
    DOPPEL_TWENTY_ROUNDS(0)
    DOPPEL_TWENTY_ROUNDS(1)
    DOPPEL_TWENTY_ROUNDS(2)
    DOPPEL_TWENTY_ROUNDS(3)
#undef DOPPEL_TWENTY_ROUNDS
    e = _mm_sha1nexte_epu32(four_before, e_before);
    abcd = _mm_add_epi32(abcd, abcd_before);
  }
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state.data()), _mm_shuffle_epi32(abcd, 0x1b));
  state[4] = static_cast<uint32_t>(_mm_extract_epi32(e, 3));
}
#endif

void by_words(State& state, const uint8_t* bytes) {
  std::array<uint32_t, 80> w;
  for (size_t i = 0; i < 16; ++i) {
    w[i] = uint32_t{bytes[4 * i]} << 24 | uint32_t{bytes[4 * i + 1]} << 16 | uint32_t{bytes[4 * i + 2]} << 8 |
           bytes[4 * i + 3];
  }
  for (size_t i = 16; i < 80; ++i) w[i] = std::rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
  auto [a, b, c, d, e] = state;
  const auto round = [&](uint32_t f, uint32_t k, uint32_t word) {
    const uint32_t next = std::rotl(a, 5) + f + e + k + word;
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = next;
  };
  for (size_t i = 0; i < 20; ++i) round((b & c) | (~b & d), 0x5a827999, w[i]);
  for (size_t i = 20; i < 40; ++i) round(b ^ c ^ d, 0x6ed9eba1, w[i]);
  for (size_t i = 40; i < 60; ++i) round((b & c) | (b & d) | (c & d), 0x8f1bbcdc, w[i]);
  for (size_t i = 60; i < 80; ++i) round(b ^ c ^ d, 0xca62c1d6, w[i]);
  const std::array<uint32_t, 5> add{a, b, c, d, e};
  for (size_t i = 0; i < 5; ++i) state[i] += add[i];
}

}  // namespace

void Sha1::blocks(const uint8_t* bytes, size_t count) {
#if defined(__x86_64__)
  static const bool instructions = has_instructions();
  if (instructions && simd_level() != Simd::scalar) return by_instructions(state_, bytes, count);
#endif
  for (; count != 0; --count, bytes += 64) by_words(state_, bytes);
}

void Sha1::update(std::string_view bytes) {
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  size_t left = bytes.size();
  const size_t open = bytes_ % 64;
  bytes_ += left;
  if (open != 0) {
    const size_t step = std::min(64 - open, left);
    std::copy_n(data, step, open_.begin() + static_cast<ptrdiff_t>(open));
    data += step;
    left -= step;
    if (open + step < 64) return;
    blocks(open_.data(), 1);
  }
  blocks(data, left / 64);
  data += left - left % 64;
  left %= 64;
  std::copy_n(data, left, open_.begin());
}

Sha1::Digest Sha1::finish() {
  const uint64_t bits = bytes_ * 8;
  std::array<char, 64> end{};
  end[0] = static_cast<char>(0x80);
  update({end.data(), 1 + (119 - bytes_ % 64) % 64});
  std::array<char, 8> length;
  for (size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(bits >> (56 - 8 * i));
  update({length.data(), length.size()});
  Digest out;
  for (size_t i = 0; i < 20; ++i) out[i] = static_cast<uint8_t>(state_[i / 4] >> (24 - 8 * (i % 4)));
  return out;
}

}  // namespace doppel
