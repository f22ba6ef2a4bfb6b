#include "base/crc32c.h"

#include <array>

#include "base/bytes.h"

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
