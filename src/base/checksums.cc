#include "base/checksums.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>

#include "base/bytes.h"
#include "base/simd.h"

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace doppel {
namespace {

using Table = std::array<uint32_t, 256>;

constexpr Table make_table() {
  Table table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = (c & 1) != 0 ? (c >> 1) ^ 0x82f63b78u : c >> 1;
    table[i] = c;
  }
  return table;
}
constexpr Table kTable = make_table();

uint32_t by_table(const char* p, size_t n, uint32_t c) {
  for (; n != 0; --n, ++p) c = kTable[(c ^ static_cast<uint8_t>(*p)) & 0xff] ^ (c >> 8);
  return c;
}

#if defined(__x86_64__)
// Updates a checksum as if `zeros` zero bytes followed. The function is linear, so one table for each of the
// four bytes suffices.
struct Shift {
  std::array<Table, 4> of_byte{};

  explicit constexpr Shift(size_t zeros) {
    for (size_t bit = 0; bit < 32; ++bit) {
      uint32_t c = uint32_t{1} << bit;
      for (size_t i = 0; i < zeros; ++i) c = kTable[c & 0xff] ^ (c >> 8);
      Table& table = of_byte[bit / 8];
      const size_t low = size_t{1} << bit % 8;
      for (size_t i = 0; i < low; ++i) table[low + i] = table[i] ^ c;
    }
  }
  uint32_t operator()(uint32_t c) const {
    return of_byte[0][c & 0xff] ^ of_byte[1][c >> 8 & 0xff] ^ of_byte[2][c >> 16 & 0xff] ^
           of_byte[3][c >> 24];
  }
};

// The instruction has a latency of three cycles, but one can start in each cycle: three runs of bytes in
// parallel.
template <size_t kRun>
__attribute__((target("sse4.2"))) uint32_t by_three(const char*& p, size_t& n, uint32_t c) {
  static constexpr Shift kShift(kRun);
  for (; n >= 3 * kRun; n -= 3 * kRun, p += 3 * kRun) {
    uint64_t a = c;
    uint64_t b = 0;
    uint64_t last = 0;
    for (size_t i = 0; i < kRun; i += sizeof(uint64_t)) {
      a = _mm_crc32_u64(a, load<uint64_t>(p + i));
      b = _mm_crc32_u64(b, load<uint64_t>(p + kRun + i));
      last = _mm_crc32_u64(last, load<uint64_t>(p + 2 * kRun + i));
    }
    c = kShift(kShift(static_cast<uint32_t>(a)) ^ static_cast<uint32_t>(b)) ^ static_cast<uint32_t>(last);
  }
  return c;
}

__attribute__((target("sse4.2"))) uint32_t by_instruction(const char* p, size_t n, uint32_t c) {
  c = by_three<1024>(p, n, c);
  c = by_three<96>(p, n, c);
  uint64_t wide = c;
  for (; n >= 8; n -= 8, p += 8) wide = _mm_crc32_u64(wide, load<uint64_t>(p));
  c = static_cast<uint32_t>(wide);
  for (; n != 0; --n, ++p) c = _mm_crc32_u8(c, static_cast<uint8_t>(*p));
  return c;
}
const bool kHasInstruction = __builtin_cpu_supports("sse4.2") != 0;
#endif

}  // namespace

uint32_t crc32c(std::string_view bytes, uint32_t seed) {
  uint32_t c = ~seed;
#if defined(__x86_64__)
  if (kHasInstruction) return ~by_instruction(bytes.data(), bytes.size(), c);
#endif
  return ~by_table(bytes.data(), bytes.size(), c);
}

}  // namespace doppel

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

namespace {

// Hands whole blocks of 64 bytes to `blocks`; keeps the rest in `open`.
template <typename Blocks>
void take_blocks(std::string_view bytes, std::array<uint8_t, 64>& open, uint64_t& count,
                 const Blocks& blocks) {
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  size_t left = bytes.size();
  const size_t begun = count % 64;
  count += left;
  if (begun != 0) {
    const size_t step = std::min(64 - begun, left);
    std::copy_n(data, step, open.begin() + static_cast<ptrdiff_t>(begun));
    data += step;
    left -= step;
    if (begun + step < 64) return;
    blocks(open.data(), 1);
  }
  blocks(data, left / 64);
  data += left - left % 64;
  left %= 64;
  std::copy_n(data, left, open.begin());
}

// Both end with a one, zeros, and the length in bits; then the state is the digest.
template <typename Sha, size_t kWords>
auto finished(Sha& sha, uint64_t bytes, const std::array<uint32_t, kWords>& state) {
  const uint64_t bits = bytes * 8;
  std::array<char, 64> end{};
  end[0] = static_cast<char>(0x80);
  sha.update({end.data(), 1 + (119 - bytes % 64) % 64});
  std::array<char, 8> length;
  for (size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(bits >> (56 - 8 * i));
  sha.update({length.data(), length.size()});
  typename Sha::Digest out;
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<uint8_t>(state[i / 4] >> (24 - 8 * (i % 4)));
  return out;
}

constexpr std::array<uint32_t, 64> kRounds256{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

void block256(std::array<uint32_t, 8>& state, const uint8_t* bytes) {
  std::array<uint32_t, 64> w;
  for (size_t i = 0; i < 16; ++i) {
    w[i] = uint32_t{bytes[4 * i]} << 24 | uint32_t{bytes[4 * i + 1]} << 16 | uint32_t{bytes[4 * i + 2]} << 8 |
           bytes[4 * i + 3];
  }
  for (size_t i = 16; i < 64; ++i) {
    const uint32_t low = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ w[i - 15] >> 3;
    const uint32_t high = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ w[i - 2] >> 10;
    w[i] = w[i - 16] + low + w[i - 7] + high;
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (size_t i = 0; i < 64; ++i) {
    const uint32_t high = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const uint32_t low = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const uint32_t one = h + high + ((e & f) ^ (~e & g)) + kRounds256[i] + w[i];
    const uint32_t two = low + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + one;
    d = c;
    c = b;
    b = a;
    a = one + two;
  }
  const std::array<uint32_t, 8> add{a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < 8; ++i) state[i] += add[i];
}

}  // namespace

void Sha1::update(std::string_view bytes) {
  take_blocks(bytes, open_, bytes_, [this](const uint8_t* data, size_t count) { blocks(data, count); });
}
Sha1::Digest Sha1::finish() { return finished(*this, bytes_, state_); }

void Sha256::update(std::string_view bytes) {
  take_blocks(bytes, open_, bytes_, [this](const uint8_t* data, size_t count) {
    for (; count != 0; --count, data += 64) block256(state_, data);
  });
}
Sha256::Digest Sha256::finish() { return finished(*this, bytes_, state_); }

}  // namespace doppel
