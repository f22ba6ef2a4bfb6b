#include "base/checksums.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "base/simd.h"

namespace doppel {
namespace {

template <typename Digest>
std::string hex(const Digest& digest) {
  std::string out;
  for (const uint8_t byte : digest) {
    out += "0123456789abcdef"[byte >> 4];
    out += "0123456789abcdef"[byte & 15];
  }
  return out;
}

template <typename Sha = Sha1>
std::string digest_of(std::string_view bytes, size_t step) {
  Sha sha;
  for (size_t i = 0; i < bytes.size(); i += step) sha.update(bytes.substr(i, step));
  return hex(sha.finish());
}

// From RFC 3174 and sha1sum.
TEST(Sha1, KnownDigestsInPiecesOfAnySize) {
  const std::string million(1'000'000, 'a');
  for (const Simd level : {Simd::scalar, simd_supported()}) {
    force_simd(level);
    for (const size_t step : {1, 3, 55, 56, 63, 64, 65, 1000}) {
      EXPECT_EQ(digest_of("", step), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
      EXPECT_EQ(digest_of("abc", step), "a9993e364706816aba3e25717850c26c9cd0d89d");
      EXPECT_EQ(digest_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", step),
                "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
      EXPECT_EQ(digest_of(million, step), "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
    }
  }
}

// From FIPS 180-4 and sha256sum.
TEST(Sha256, KnownDigestsInPiecesOfAnySize) {
  const std::string million(1'000'000, 'a');
  for (const size_t step : {1, 3, 55, 56, 63, 64, 65, 1000}) {
    EXPECT_EQ(digest_of<Sha256>("", step),
              "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(digest_of<Sha256>("abc", step),
              "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(digest_of<Sha256>("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", step),
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    EXPECT_EQ(digest_of<Sha256>(million, step),
              "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  }
}

TEST(Sha1, TheInstructionsGiveWhatTheWordsGive) {
  std::mt19937_64 random(5);
  for (size_t size = 0; size < 700; size += 1 + random() % 5) {
    std::string bytes(size, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    force_simd(Simd::scalar);
    const std::string by_words = digest_of(bytes, 1000);
    force_simd(simd_supported());
    EXPECT_EQ(digest_of(bytes, 1 + random() % 200), by_words) << size;
  }
}

}  // namespace
}  // namespace doppel
