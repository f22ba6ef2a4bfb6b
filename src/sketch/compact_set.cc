// Builds, encodes and decodes compact sets. set_coding.h describes the format.

#include "sketch/compact_set.h"

#include <algorithm>
#include <bit>

#include "base/bytes.h"
#include "base/check.h"
#include "base/crc32c.h"
#include "base/simd.h"
#include "base/status.h"
#include "sketch/radix_sort.h"
#include "sketch/set_coding.h"

namespace doppel {
namespace {

constexpr size_t kHeaderMost = sizeof(uint32_t) + 1 + 5 + 5;  // CRC, bits, n < 2^32 + 1, zeros

int bits_for(size_t distinct) {
  if (distinct == 0) return 0;
  if (distinct < 256) return 24;
  return std::min(32, static_cast<int>(std::bit_width(distinct - 1)) + 9);
}

struct Kernels {
  decltype(&sum_quotients_scalar) sum_quotients = sum_quotients_scalar;
  decltype(&encode_streams_scalar) encode_streams = encode_streams_scalar;
  decltype(&decode_quotients_scalar) decode_quotients = decode_quotients_scalar;
  decltype(&decode_remainders_scalar) decode_remainders = decode_remainders_scalar;
};

Kernels kernels() {
#if defined(__x86_64__)
  if (simd_level() == Simd::avx512) {
    return {sum_quotients_avx512, encode_streams_avx512, decode_quotients_avx512, decode_remainders_avx512};
  }
#endif
  return {};
}

SetStreams streams_of(const SetShape& shape, uint8_t* planes) {
  uint8_t* bit_planes = planes + shape.byte_planes();
  return {shape.n,    shape.remainder_bits(),          planes,
          bit_planes, bit_planes + shape.bit_planes(), shape.quotients()};
}

// Whether the bitmap has exactly n ones, the last one at the end.
bool is_bitmap_sound(const SetStreams& streams, uint64_t zeros) {
  const uint64_t last = streams.n + zeros - 1;
  if (std::bit_width(streams.quotients[streams.quotient_bytes - 1]) != static_cast<int>(last % 8) + 1)
    return false;
  size_t ones = 0;
  size_t i = 0;
  for (; i + 8 <= streams.quotient_bytes; i += 8) {
    ones += static_cast<size_t>(std::popcount(load<uint64_t>(streams.quotients + i)));
  }
  for (; i < streams.quotient_bytes; ++i) ones += static_cast<size_t>(std::popcount(streams.quotients[i]));
  return ones == streams.n;
}

}  // namespace

void make_compact_set(std::span<const uint32_t> tops, CompactSet& out) {
  sort_tops(tops, out.values);
  out.bits = bits_for(count_distinct(out.values.data(), out.values.size()));
  out.values.resize(shift_distinct(out.values.data(), out.values.size(), 32 - out.bits));
}

size_t max_encoded_size(size_t n) { return kHeaderMost + 4 * n + 7 + (3 * n + 7) / 8 + 7; }

void encode_compact_set(const CompactSet& set, std::string& out) {
  const size_t start = out.size();
  put_fixed(out, uint32_t{0});
  SetShape shape{set.values.size(), set.values.empty() ? 0 : set.bits};
  out.push_back(static_cast<char>(shape.bits));
  DOPPEL_CHECK(shape.n == 0 || (set.bits >= 1 && set.bits <= 32 && (shape.n - 1) >> set.bits == 0),
               "a compact set has no more values than its bits can tell apart", shape.n, set.bits);
  if (shape.n != 0) {
    const Kernels run = kernels();
    shape.zeros = run.sum_quotients(set.values.data(), shape.n, shape.remainder_bits());
    put_varint(out, shape.n);
    put_varint(out, shape.zeros);
    const size_t header_end = out.size();
    out.resize(header_end + shape.bytes());
    run.encode_streams(set.values.data(),
                       streams_of(shape, reinterpret_cast<uint8_t*>(out.data() + header_end)));
  }
  std::string_view body = std::string_view(out).substr(start + sizeof(uint32_t));
  store(out.data() + start, crc32c(body));
}

absl::Status decode_compact_set(std::string_view coded, CompactSet& out) {
  out.bits = 0;
  out.values.clear();
  ByteReader reader(coded);
  const auto crc = reader.fixed<uint32_t>();
  if (!reader.ok() || crc != crc32c(reader.rest())) return invalid("compact set: wrong checksum");
  SetShape shape;
  shape.bits = reader.fixed<uint8_t>();
  if (reader.done() && shape.bits == 0) return absl::OkStatus();
  shape.n = reader.varint();
  shape.zeros = reader.varint();
  // Each value takes at least one bit, so the size of the input bounds n before anything is allocated.
  const std::string_view body = reader.rest();
  if (!reader.ok() || shape.bits < 1 || shape.bits > 32 || shape.n == 0 || shape.n > 8 * body.size() ||
      shape.n > uint64_t{1} << shape.bits || shape.zeros > uint64_t{1} << std::bit_width(shape.n - 1) ||
      shape.bytes() != body.size()) {
    return invalid("compact set: impossible header");
  }
  // Decoding only reads, so the const_cast is safe.
  const SetStreams streams = streams_of(shape, reinterpret_cast<uint8_t*>(const_cast<char*>(body.data())));
  if (!is_bitmap_sound(streams, shape.zeros)) return invalid("compact set: impossible quotients");
  out.values.resize(shape.n);
  const Kernels run = kernels();
  run.decode_quotients(streams, out.values.data());
  const uint32_t sum = run.decode_remainders(streams, out.values.data());
  // The remainders sum to less than n * 2^b <= 2^32. Both sums only grow along the set, so if the last value
  // fits, no earlier value wrapped around.
  if (((shape.zeros << streams.b) + sum) >> shape.bits != 0) {
    out.values.clear();
    return invalid("compact set: values out of range");
  }
  out.bits = shape.bits;
  return absl::OkStatus();
}

}  // namespace doppel
