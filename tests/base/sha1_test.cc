#include "base/checksums.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "base/simd.h"

namespace doppel {
namespace {

std::string hex(const Sha1::Digest& digest) {
  std::string out;
  for (const uint8_t byte : digest) {
    out += "0123456789abcdef"[byte >> 4];
    out += "0123456789abcdef"[byte & 15];
  }
  return out;
}

std::string sha1(std::string_view bytes, size_t step) {
  Sha1 sha;
  for (size_t i = 0; i < bytes.size(); i += step) sha.update(bytes.substr(i, step));
  return hex(sha.finish());
}

// From RFC 3174 and sha1sum.
TEST(Sha1, KnownDigestsInPiecesOfAnySize) {
  const std::string million(1'000'000, 'a');
  for (const Simd level : {Simd::scalar, simd_supported()}) {
    force_simd(level);
    for (const size_t step : {1, 3, 55, 56, 63, 64, 65, 1000}) {
      EXPECT_EQ(sha1("", step), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
      EXPECT_EQ(sha1("abc", step), "a9993e364706816aba3e25717850c26c9cd0d89d");
      EXPECT_EQ(sha1("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", step),
                "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
      EXPECT_EQ(sha1(million, step), "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
    }
  }
}

TEST(Sha1, TheInstructionsGiveWhatTheWordsGive) {
  std::mt19937_64 random(5);
  for (size_t size = 0; size < 700; size += 1 + random() % 5) {
    std::string bytes(size, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    force_simd(Simd::scalar);
    const std::string by_words = sha1(bytes, 1000);
    force_simd(simd_supported());
    EXPECT_EQ(sha1(bytes, 1 + random() % 200), by_words) << size;
  }
}

}  // namespace
}  // namespace doppel
