// Encodes and decodes the streams of a compact set, a block of values at a time.

#include "sketch/set_coding.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace doppel {
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

}  // namespace doppel
