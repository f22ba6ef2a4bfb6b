#include "base/checksums.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>

namespace doppel {
namespace {

// RFC 3720, B.4.
TEST(Crc32c, KnownValues) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(crc32c(""), 0u);
}

TEST(Crc32c, ContinuesFromAPrefix) {
  std::string text = "the crawl repeats the crawl repeats";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    EXPECT_EQ(crc32c(text.substr(cut), crc32c(text.substr(0, cut))), crc32c(text));
  }
}

// One bit at a time, as in the standard.
uint32_t slow_crc32c(std::string_view bytes, uint32_t seed) {
  uint32_t c = ~seed;
  for (const char byte : bytes) {
    c ^= static_cast<uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) c = (c & 1) != 0 ? (c >> 1) ^ 0x82f63b78u : c >> 1;
  }
  return ~c;
}

TEST(Crc32c, EveryLengthIsRightWhereverItBegins) {
  std::mt19937_64 random(7);
  std::string text(9000, '\0');
  for (char& byte : text) byte = static_cast<char>(random());
  for (size_t size = 0; size + 8 < text.size(); size += size < 700 ? 1 : 97) {
    const std::string_view part = std::string_view(text).substr(size % 8, size);
    const auto seed = static_cast<uint32_t>(random());
    ASSERT_EQ(crc32c(part, seed), slow_crc32c(part, seed)) << "of " << size << " bytes";
  }
}

}  // namespace
}  // namespace doppel
