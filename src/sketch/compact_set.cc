// Making, coding and decoding compact sets. The format is described in set_coding.h.

#include "sketch/compact_set.h"

#include <algorithm>
#include <array>
#include <bit>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/status.h"
#include "sketch/radix_sort.h"
#include "sketch/set_coding.h"

namespace doppel {
namespace {

constexpr size_t kHeaderMost = sizeof(uint32_t) + 1 + 5 + 5;  // CRC, bits, n < 2^32 + 1, zeros
constexpr size_t kBlock = 512;                                // a multiple of 8: bit planes divide evenly

int bits_for(size_t distinct) {
  if (distinct == 0) return 0;
  if (distinct < 256) return 24;
  return std::min(32, static_cast<int>(std::bit_width(distinct - 1)) + 9);
}

size_t count_distinct(const uint32_t* sorted, size_t n) {
  size_t distinct = n != 0 ? 1 : 0;
  for (size_t i = 1; i < n; ++i) distinct += sorted[i] != sorted[i - 1];
  return distinct;
}

// Writes remainders and quotients; both begin zeroed.
void encode_streams(const uint32_t* values, const SetShape& shape, uint8_t* planes, uint8_t* quotients) {
  const int b = shape.remainder_bits();
  const int whole = b / 8;
  uint8_t* bit_planes = planes + shape.byte_planes();
  uint64_t previous = ~uint64_t{0};
  uint64_t position = ~uint64_t{0};
  std::array<uint32_t, kBlock> gaps;
  for (size_t first = 0; first < shape.n; first += kBlock) {
    const size_t count = std::min(kBlock, shape.n - first);
    for (size_t i = 0; i < count; ++i) {
      gaps[i] = static_cast<uint32_t>(values[first + i] - previous - 1);
      previous = values[first + i];
    }
    for (int plane = 0; plane < whole; ++plane) {
      uint8_t* out = planes + static_cast<size_t>(plane) * shape.n + first;
      for (size_t i = 0; i < count; ++i) out[i] = static_cast<uint8_t>(gaps[i] >> (8 * plane));
    }
    for (int bit = 8 * whole; bit < b; ++bit) {
      uint8_t* out = bit_planes + static_cast<size_t>(bit - 8 * whole) * shape.bit_plane() + first / 8;
      for (size_t i = 0; i < count; ++i) out[i / 8] |= static_cast<uint8_t>((gaps[i] >> bit & 1) << (i % 8));
    }
    for (size_t i = 0; i < count; ++i) {
      position += (uint64_t{gaps[i]} >> b) + 1;
      quotients[position / 8] |= static_cast<uint8_t>(1 << (position % 8));
    }
  }
}

// The sums of quotients, shifted into place. False unless there are exactly n ones, the last of them last.
bool decode_quotients(const uint8_t* quotients, const SetShape& shape, uint32_t* values) {
  const uint64_t last = shape.n + shape.zeros - 1;
  const size_t bytes = shape.quotients();
  if (std::bit_width(quotients[bytes - 1]) != static_cast<int>(last % 8) + 1) return false;
  const int b = shape.remainder_bits();
  size_t found = 0;
  for (size_t i = 0; i < bytes; i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, quotients + i, std::min<size_t>(8, bytes - i));
    if (found + static_cast<size_t>(std::popcount(word)) > shape.n) return false;
    for (; word != 0; word &= word - 1, ++found) {
      values[found] = static_cast<uint32_t>((8 * i + std::countr_zero(word) - found) << b);
    }
  }
  return found == shape.n;
}

// Adds the sums of remainders. False if a value does not fit.
bool decode_remainders(const uint8_t* planes, const SetShape& shape, uint32_t* values) {
  const int b = shape.remainder_bits();
  const int whole = b / 8;
  const uint8_t* bit_planes = planes + shape.byte_planes();
  uint64_t sum = ~uint64_t{0};
  std::array<uint32_t, kBlock> remainders;
  for (size_t first = 0; first < shape.n; first += kBlock) {
    const size_t count = std::min(kBlock, shape.n - first);
    remainders.fill(0);
    for (int plane = 0; plane < whole; ++plane) {
      const uint8_t* in = planes + static_cast<size_t>(plane) * shape.n + first;
      for (size_t i = 0; i < count; ++i) remainders[i] |= uint32_t{in[i]} << (8 * plane);
    }
    for (int bit = 8 * whole; bit < b; ++bit) {
      const uint8_t* in = bit_planes + static_cast<size_t>(bit - 8 * whole) * shape.bit_plane() + first / 8;
      for (size_t i = 0; i < count; ++i)
        remainders[i] |= static_cast<uint32_t>(in[i / 8] >> (i % 8) & 1) << bit;
    }
    for (size_t i = 0; i < count; ++i) {
      sum += remainders[i] + uint64_t{1};
      values[first + i] += static_cast<uint32_t>(sum);
    }
  }
  // Both sums only grow, so if the last value fits, no value wrapped around.
  uint64_t last = (shape.zeros << b) + sum;
  return last >> shape.bits == 0;
}

}  // namespace

void make_compact_set(PodVector<uint32_t>& tops, CompactSet& out) {
  sort_tops(tops);
  out.bits = bits_for(count_distinct(tops.data(), tops.size()));
  out.values.resize(tops.size());
  size_t kept = 0;
  for (uint32_t top : tops) {
    uint32_t value = top >> (32 - out.bits);
    if (kept == 0 || out.values[kept - 1] != value) out.values[kept++] = value;
  }
  out.values.resize(kept);
}

size_t max_encoded_size(size_t n) { return kHeaderMost + 4 * n + 7 + (3 * n + 7) / 8 + 7; }

void encode_compact_set(const CompactSet& set, std::string& out) {
  const size_t start = out.size();
  put_fixed(out, uint32_t{0});
  SetShape shape{set.values.size(), set.values.empty() ? 0 : set.bits};
  out.push_back(static_cast<char>(shape.bits));
  if (shape.n != 0) {
    // The last value is all quotients, all remainders and n - 1.
    const int b = shape.remainder_bits();
    uint64_t previous = ~uint64_t{0};
    for (uint32_t value : set.values) {
      shape.zeros += (value - previous - 1) >> b;
      previous = value;
    }
    put_varint(out, shape.n);
    put_varint(out, shape.zeros);
    const size_t streams = out.size();
    out.resize(streams + shape.bytes());
    auto* planes = reinterpret_cast<uint8_t*>(out.data() + streams);
    encode_streams(set.values.data(), shape, planes, planes + shape.byte_planes() + shape.bit_planes());
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
  // Each value takes at least one bit, so n is bounded by the bytes at hand before anything is allocated.
  const std::string_view streams = reader.rest();
  if (!reader.ok() || shape.bits < 1 || shape.bits > 32 || shape.n == 0 || shape.n > 8 * streams.size() ||
      shape.n > uint64_t{1} << shape.bits || shape.zeros > uint64_t{1} << std::bit_width(shape.n - 1) ||
      shape.bytes() != streams.size()) {
    return invalid("compact set: impossible header");
  }
  out.values.resize(shape.n);
  const auto* planes = reinterpret_cast<const uint8_t*>(streams.data());
  const uint8_t* quotients = planes + shape.byte_planes() + shape.bit_planes();
  if (!decode_quotients(quotients, shape, out.values.data()) ||
      !decode_remainders(planes, shape, out.values.data())) {
    out.values.clear();
    return invalid("compact set: impossible values");
  }
  out.bits = shape.bits;
  return absl::OkStatus();
}

}  // namespace doppel
