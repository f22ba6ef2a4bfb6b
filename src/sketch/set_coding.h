#pragma once
// The coded form of a compact set, version 1, and the kernels that read and write it.
//
//   u32     CRC32C of everything that follows
//   u8      bits of every value; 0 means the empty set, and nothing follows
//   varint  n, the number of values
//   varint  zeros, the sum of all quotients
//   bytes   floor(b / 8) planes of n bytes: bits 0-7 of every remainder, then bits 8-15, ...
//   bits    b mod 8 planes of n bits in ceil(n / 8) bytes: the remainders' further bits, low to high
//   bits    n + zeros bits in whole bytes: each quotient in unary, as that many zeros and a one
//
// This is a Rice code of the gaps (value - previous value - 1; quotient = gap >> b, remainder = its b low
// bits, b = bits - ceil(log2 n)), but split into streams: the remainders in planes that need no shifting, the
// quotients in a bitmap. If the i-th one is at position p, the first i + 1 quotients sum to p - i. So
// decoding never waits for the end of the previous code word, and a set takes exactly as many bits as in a
// sequential Rice code. Sets that make_compact_set() makes of 256 to 2^23 shingles have b = 9: one byte
// plane, one bit plane.
//
// The unused bits of each stream's last byte are zero. Everything is little endian, low bit first.

#include <bit>
#include <cstddef>
#include <cstdint>

namespace doppel {

struct SetShape {
  size_t n = 0;
  int bits = 0;
  uint64_t zeros = 0;

  int remainder_bits() const { return bits - std::bit_width(n - 1); }
  size_t byte_planes() const { return static_cast<size_t>(remainder_bits()) / 8 * n; }
  size_t bit_plane() const { return (n + 7) / 8; }
  size_t bit_planes() const { return static_cast<size_t>(remainder_bits()) % 8 * bit_plane(); }
  size_t quotients() const { return (n + zeros + 7) / 8; }
  size_t bytes() const { return byte_planes() + bit_planes() + quotients(); }
};
// Quotients sum to at most 2^(bits - b) = 2^ceil(log2 n) < 2n, so a bitmap has fewer than 3n bits.

// The streams of a set in memory. A plain struct, because it is also compiled for other processors.
struct SetStreams {
  size_t n;
  int b;
  uint8_t* planes;      // byte planes, then bit planes of (n + 7) / 8 bytes each
  uint8_t* bit_planes;  // planes + b / 8 * n
  uint8_t* quotients;
  size_t quotient_bytes;
};

// The sum of all quotients.
uint64_t sum_quotients_scalar(const uint32_t* values, size_t n, int b);
uint64_t sum_quotients_avx512(const uint32_t* values, size_t n, int b);

// Writes all streams. The caller must zero the bitmap.
void encode_streams_scalar(const uint32_t* values, const SetStreams& streams);
void encode_streams_avx2(const uint32_t* values, const SetStreams& streams);
void encode_streams_avx512(const uint32_t* values, const SetStreams& streams);

// values[i] = the sum of the first i + 1 quotients, shifted left by b. The bitmap must have exactly n ones.
void decode_quotients_scalar(const SetStreams& streams, uint32_t* values);
void decode_quotients_avx512(const SetStreams& streams, uint32_t* values);

// Adds to values[i] the sum of the first i + 1 remainders, plus i. Returns what it added to the last value.
uint32_t decode_remainders_scalar(const SetStreams& streams, uint32_t* values);
uint32_t decode_remainders_avx2(const SetStreams& streams, uint32_t* values);
uint32_t decode_remainders_avx512(const SetStreams& streams, uint32_t* values);

}  // namespace doppel
