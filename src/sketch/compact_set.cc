// Builds, encodes, decodes and compares compact sets. set_coding.h describes the format.

#include "sketch/compact_set.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/bytes.h"
#include "base/check.h"
#include "base/checksums.h"
#include "base/simd.h"
#include "base/status.h"
#include "sketch/overlap.h"
#include "sketch/radix_sort.h"
#include "sketch/set_coding.h"

namespace doppel {

// Encodes and decodes the streams of a compact set, a block of values at a time.

namespace {

constexpr size_t kBlock = 512;  // a multiple of 8, so that bit planes divide evenly
using Block = std::array<uint32_t, kBlock>;

// Writes the bitmap one 64-bit word at a time; the last word may be partial.
class OnesWriter {
 public:
  OnesWriter(uint8_t* bytes, size_t size) : bytes_(bytes), size_(size) {}
  ~OnesWriter() { flush(); }
  OnesWriter(const OnesWriter&) = delete;
  OnesWriter& operator=(const OnesWriter&) = delete;

  void put(uint64_t position) {
    if (position / 64 != word_) {
      flush();
      word_ = position / 64;
      ones_ = 0;
    }
    ones_ |= uint64_t{1} << (position % 64);
  }

 private:
  void flush() { std::memcpy(bytes_ + 8 * word_, &ones_, std::min<size_t>(8, size_ - 8 * word_)); }

  uint8_t* bytes_;
  size_t size_;
  uint64_t word_ = 0;
  uint64_t ones_ = 0;
};

}  // namespace

uint64_t sum_quotients_scalar(const uint32_t* values, size_t n, int b) {
  uint64_t sum = uint64_t{values[0]} >> b;
  for (size_t i = 1; i < n; ++i) sum += uint64_t{values[i] - values[i - 1] - 1} >> b;
  return sum;
}

void encode_streams_scalar(const uint32_t* values, const SetStreams& streams) {
  OnesWriter ones(streams.quotients, streams.quotient_bytes);
  uint64_t position = ~uint64_t{0};
  Block gaps;
  for (size_t first = 0; first < streams.n; first += kBlock) {
    const size_t count = std::min(kBlock, streams.n - first);
    for (size_t i = 0; i < count; ++i) {
      gaps[i] = first + i == 0 ? values[0] : values[first + i] - values[first + i - 1] - 1;
    }
    std::fill(gaps.begin() + count, gaps.end(), 0);
    uint8_t* plane = streams.planes + first;
    int bit = 0;
    for (; bit + 8 <= streams.b; bit += 8, plane += streams.n) {
      for (size_t i = 0; i < count; ++i) plane[i] = static_cast<uint8_t>(gaps[i] >> bit);
    }
    plane = streams.bit_planes + first / 8;
    for (; bit < streams.b; ++bit, plane += (streams.n + 7) / 8) {
      for (size_t i = 0; i < count; i += 8) {
        uint32_t byte = 0;
        for (size_t j = 0; j < 8; ++j) byte |= (gaps[i + j] >> bit & 1) << j;
        plane[i / 8] = static_cast<uint8_t>(byte);
      }
    }
    for (size_t i = 0; i < count; ++i) {
      position += (uint64_t{gaps[i]} >> streams.b) + 1;
      ones.put(position);
    }
  }
}

void decode_quotients_scalar(const SetStreams& streams, uint32_t* values) {
  size_t found = 0;
  for (size_t i = 0; i < streams.quotient_bytes; i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, streams.quotients + i, std::min<size_t>(8, streams.quotient_bytes - i));
    for (; word != 0; word &= word - 1, ++found) {
      values[found] =
          static_cast<uint32_t>((8 * i + static_cast<size_t>(std::countr_zero(word)) - found) << streams.b);
    }
  }
}

uint32_t decode_remainders_scalar(const SetStreams& streams, uint32_t* values) {
  uint32_t sum = ~uint32_t{0};
  Block remainders;
  for (size_t first = 0; first < streams.n; first += kBlock) {
    const size_t count = std::min(kBlock, streams.n - first);
    remainders.fill(0);
    const uint8_t* plane = streams.planes + first;
    int bit = 0;
    for (; bit + 8 <= streams.b; bit += 8, plane += streams.n) {
      for (size_t i = 0; i < count; ++i) remainders[i] |= uint32_t{plane[i]} << bit;
    }
    plane = streams.bit_planes + first / 8;
    for (; bit < streams.b; ++bit, plane += (streams.n + 7) / 8) {
      for (size_t i = 0; i < count; i += 8) {
        const uint32_t byte = plane[i / 8];
        for (size_t j = 0; j < 8; ++j) remainders[i + j] |= (byte >> j & 1) << bit;
      }
    }
    for (size_t i = 0; i < count; ++i) {
      sum += remainders[i] + 1;
      values[first + i] += sum;
    }
  }
  return sum;
}

// The overlap of two compact sets. The scalar form merges two sorted arrays without branches on their values.

namespace {

// Smaller sets do not fill a block.
constexpr size_t kFew = 8;

size_t common_values(const uint32_t* a, size_t na, const uint32_t* b, size_t nb, int shift) {
#if defined(__x86_64__)
  if (na >= kFew && nb >= kFew && simd_level() >= Simd::avx2) return common_values_avx2(a, na, b, nb, shift);
#endif
  return common_values_scalar(a, na, b, nb, shift);
}

size_t distinct_shifted(const uint32_t* b, size_t nb, int shift) {
  if (shift == 0) return nb;
#if defined(__x86_64__)
  if (simd_level() >= Simd::avx2) return distinct_shifted_avx2(b, nb, shift);
#endif
  size_t distinct = 1;
  for (size_t j = 1; j < nb; ++j) distinct += b[j] >> shift != b[j - 1] >> shift;
  return distinct;
}

}  // namespace

size_t common_values_scalar(const uint32_t* a, size_t na, const uint32_t* b, size_t nb, int shift) {
  size_t common = 0;
  size_t i = 0;
  size_t j = 0;
  while (i < na && j < nb) {
    uint32_t left = a[i];
    uint32_t right = b[j] >> shift;
    common += left == right;
    i += left <= right;
    j += right <= left;
  }
  return common;
}

void mark_common(std::span<const uint32_t> values, int shift, std::span<const uint32_t> other,
                 int other_shift, uint32_t* marks) {
  std::fill_n(marks, values.size(), 0);
  Marked at{0, 0};
#if defined(__x86_64__)
  if (simd_level() >= Simd::avx2) at = mark_common_avx2(values, shift, other, other_shift, marks);
#endif
  size_t i = at.values, j = at.other;
  while (i < values.size() && j < other.size()) {
    const uint32_t left = values[i] >> shift, right = other[j] >> other_shift;
    marks[i] |= left == right ? 1u : 0u;
    i += left <= right;
    j += right < left;
  }
}

Overlap overlap(const CompactSet& a, const CompactSet& b) {
  if (a.values.empty() || b.values.empty()) return {0, a.values.size() + b.values.size()};
  if (a.bits > b.bits) return overlap(b, a);
  const int shift = b.bits - a.bits;
  uint64_t inter = common_values(a.values.data(), a.values.size(), b.values.data(), b.values.size(), shift);
  uint64_t sizes = a.values.size() + distinct_shifted(b.values.data(), b.values.size(), shift);
  DOPPEL_CHECK(inter <= sizes - inter, "two sets share no more than they have together", inter, sizes,
               a.values.size(), b.values.size());
  return {inter, sizes - inter};
}

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
  if (simd_level() == Simd::avx2)
    return {.encode_streams = encode_streams_avx2, .decode_remainders = decode_remainders_avx2};
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
