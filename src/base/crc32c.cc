#include "base/crc32c.h"

#include <array>

#include "base/bytes.h"

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace doppel {
namespace {

constexpr std::array<uint32_t, 256> make_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = (c & 1) != 0 ? (c >> 1) ^ 0x82f63b78u : c >> 1;
    table[i] = c;
  }
  return table;
}
constexpr std::array<uint32_t, 256> kTable = make_table();

uint32_t by_table(const char* p, size_t n, uint32_t c) {
  for (; n != 0; --n, ++p) c = kTable[(c ^ static_cast<uint8_t>(*p)) & 0xff] ^ (c >> 8);
  return c;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) uint32_t by_instruction(const char* p, size_t n, uint32_t c) {
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
