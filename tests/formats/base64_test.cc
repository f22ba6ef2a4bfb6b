#include "formats/bytes/base64.h"

#include <gtest/gtest.h>

#include <random>

namespace doppel {
namespace {

// Encodes in the plainest way: six bits after the other.
std::string encode(std::string_view bytes, bool padded, bool url) {
  std::string alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  alphabet += url ? "-_" : "+/";
  std::string out;
  for (size_t bit = 0; bit < bytes.size() * 8; bit += 6) {
    unsigned value = 0;
    for (size_t i = bit; i < bit + 6; ++i) {
      const unsigned byte = i / 8 < bytes.size() ? static_cast<unsigned char>(bytes[i / 8]) : 0;
      value = value << 1 | (byte >> (7 - i % 8) & 1);
    }
    out += alphabet[value];
  }
  while (padded && out.size() % 4 != 0) out += '=';
  return out;
}

TEST(Base64, AnyBytesComeBack) {
  std::mt19937_64 random(11);
  std::string out;
  for (size_t size = 0; size < 300; ++size) {
    std::string bytes(size, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    std::string text = encode(bytes, random() % 2 == 0, random() % 2 == 0);
    ASSERT_TRUE(decode_base64(text, out)) << text;
    ASSERT_EQ(out, bytes);
    for (size_t at = random() % 20 + 1; at < text.size(); at += random() % 40 + 1) text.insert(at, "\r\n");
    ASSERT_TRUE(decode_base64(text, out)) << text;
    ASSERT_EQ(out, bytes);
  }
}

TEST(Base64, WhatIsNone) {
  std::string out;
  for (const char* text :
       {"A", "AAAAA", "AA=A", "AA A", "=", "A===", "AAAA<", "AAAAAAAA AAAAAAA", "\303\251AA"}) {
    EXPECT_FALSE(decode_base64(text, out)) << text;
  }
}

TEST(Base64, TextThatOnlyLooksLikeIt) {
  std::string out;
  for (const char* text : {"test", "word", "nowhere1", "HelloWorld12", "", "a b c d", "<p>x</p>"}) {
    EXPECT_FALSE(is_base64_document(text, out)) << text;
  }
  EXPECT_TRUE(is_base64_document(encode("<p>x y</p>", true, false), out));
  EXPECT_EQ(out, "<p>x y</p>");
  EXPECT_TRUE(
      is_base64_document(encode(std::string(100, '\xcf') + " text in windows-1251", true, false), out));
}

}  // namespace
}  // namespace doppel
