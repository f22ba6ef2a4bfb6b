// The shingler gives the same hashes however a text is cut and whichever kernels run, and accepts any bytes.

#include "text/shingler.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/simd.h"
#include "reference.h"
#include "text/words.h"

namespace doppel {
namespace {

namespace ref = reference;
using Hashes = std::vector<uint64_t>;
constexpr HashKey kKey{0x0123456789abcdef, 0xfedcba9876543210};

class Shingles : public testing::Test {
 protected:
  ~Shingles() override { force_simd(simd_supported()); }
};

Hashes expected(std::string_view text, int size) {
  std::vector<std::string> words;
  for (const WordSpan& word : split_words(text)) words.push_back(word.text);
  return ref::shingles(words, kKey, size);
}

Hashes in_pieces(std::string_view text, int size, ref::Random& random, size_t longest) {
  Shingler shingler(kKey, size);
  PodVector<uint64_t> out;
  while (!text.empty()) {
    size_t n = std::min(text.size(), ref::below(random, longest + 1));
    shingler.update(text.substr(0, n), out);
    text.remove_prefix(n);
  }
  shingler.finish(out);
  return {out.begin(), out.end()};
}

// Bytes of every kind: ASCII, scripts, broken sequences, zero bytes, very long words.
std::string random_bytes(ref::Random& random) {
  std::string text;
  size_t parts = 1 + ref::below(random, 8);
  for (size_t i = 0; i < parts; ++i) {
    size_t n = ref::below(random, ref::below(random, 5) == 0 ? 12000 : 200);
    switch (ref::below(random, 5)) {
      case 0:
        for (size_t k = 0; k < n; ++k) text += static_cast<char>(random());
        break;
      case 1:
        for (size_t k = 0; k < n; ++k) text += static_cast<char>(ref::below(random, 0x80));
        break;
      case 2:
        text += std::string(n, static_cast<char>('A' + ref::below(random, 26)));
        break;
      case 3:
        for (size_t k = 0; k < n; ++k)
          text += ref::below(random, 6) == 0 ? ' ' : static_cast<char>('a' + ref::below(random, 26));
        break;
      default:
        text += ref::to_utf8(ref::random_text(random, n));
    }
    if (ref::below(random, 3) == 0 && !text.empty()) text.resize(ref::below(random, text.size()));
  }
  return text;
}

TEST_F(Shingles, SameForEveryLevelAndEveryCut) {
  for (uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    ref::Random random(seed);
    const std::string text = random_bytes(random);
    const int size = seed % 3 == 0 ? static_cast<int>(1 + ref::below(random, 64)) : 5;
    const Hashes want = expected(text, size);
    for (Simd level : simd_levels()) {
      force_simd(level);
      ASSERT_EQ(ref::shingled(text, kKey, size), want) << simd_name(level);
      ASSERT_EQ(in_pieces(text, size, random, 5), want) << simd_name(level);
      ASSERT_EQ(in_pieces(text, size, random, 3000), want) << simd_name(level);
    }
  }
}

TEST_F(Shingles, EveryPlaceOfOneCut) {
  const std::string text =
      "Ünï\u0323\u0301ço\u0345dé “quotes” 漢字\u3099 한국 a\xe2\x82 \xff \xf0\x9f\x98 😀 "
      "the_longest_word_of_this_text x";
  const Hashes want = expected(text, 2);
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    Shingler shingler(kKey, 2);
    PodVector<uint64_t> out;
    shingler.update(std::string_view(text).substr(0, cut), out);
    shingler.update(std::string_view(text).substr(cut), out);
    shingler.finish(out);
    ASSERT_EQ(Hashes(out.begin(), out.end()), want) << cut;
  }
}

TEST_F(Shingles, EveryWordLengthAtEveryBlockBoundary) {
  for (Simd level : simd_levels()) {
    force_simd(level);
    for (size_t before = 8192 - 70; before < 8192 + 3; ++before) {
      for (size_t length : {1u, 8u, 15u, 16u, 17u, 31u, 32u, 33u, 48u, 64u, 65u}) {
        std::string text = std::string(before, ' ') + std::string(length, 'x') + " y";
        ASSERT_EQ(ref::shingled(text, kKey, 1), expected(text, 1)) << before << " " << length;
      }
    }
  }
}

TEST_F(Shingles, FewerWordsThanAShingle) {
  EXPECT_TRUE(ref::shingled("", kKey, 1).empty());
  EXPECT_TRUE(ref::shingled(" .,; \n", kKey, 1).empty());
  EXPECT_TRUE(ref::shingled("one two three four", kKey, 5).empty());
  EXPECT_EQ(ref::shingled("one two three four five", kKey, 5).size(), 1u);
  EXPECT_EQ(ref::shingled("one", kKey, 1).size(), 1u);
}

TEST_F(Shingles, DocumentsDoNotMixAndWordsAreCounted) {
  Shingler shingler(kKey, 3);
  PodVector<uint64_t> out;
  shingler.update("a b c d e\u0301", out);
  EXPECT_EQ(shingler.words_seen(), 4u);
  shingler.finish(out);
  EXPECT_EQ(shingler.words_seen(), 5u);
  EXPECT_EQ(out.size(), 3u);
  const Hashes first(out.begin(), out.end());
  out.clear();
  shingler.update("\u0301 half a sequence \xe2\x82", out);
  shingler.finish(out);
  EXPECT_EQ(shingler.words_seen(), 4u);
  out.clear();
  shingler.update("a b c d e\u0301", out);
  shingler.finish(out);
  EXPECT_EQ(Hashes(out.begin(), out.end()), first);
  out.clear();
  shingler.finish(out);
  EXPECT_EQ(shingler.words_seen(), 0u);
  EXPECT_TRUE(out.empty());
}

TEST_F(Shingles, AppendsToWhatIsThere) {
  Shingler shingler(kKey, 1);
  PodVector<uint64_t> out(1, 7);
  shingler.update("x", out);
  shingler.finish(out);
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0], 7u);
}

TEST_F(Shingles, NotUtf8Separates) {
  const Hashes want = ref::shingled("a b c", kKey, 3);
  for (std::string_view separator :
       {"\xff", "\xc3", "\xe2\x82", "\xed\xa0\x80", "\xc0\x80", "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80"}) {
    std::string text;
    for (const char* word : {"a", "b", "c"}) text.append(word).append(separator);
    EXPECT_EQ(ref::shingled(text, kKey, 3), want);
    text.resize(text.size() - separator.size());
    EXPECT_EQ(ref::shingled(text, kKey, 3), want);
  }
  using namespace std::string_view_literals;
  EXPECT_EQ(ref::shingled("a\0b\0c"sv, kKey, 3), want);
  EXPECT_EQ(ref::shingled("\ufeff"
                          "a b c",
                          kKey, 3),
            want);
}

TEST_F(Shingles, KeysAndSizesMatter) {
  const std::string text = "some words that are the same";
  EXPECT_NE(ref::shingled(text, kKey, 2), ref::shingled(text, HashKey{1, 2}, 2));
  EXPECT_NE(ref::shingled(text, HashKey{0, 0}, 2), ref::shingled(text, HashKey{0, 1}, 2));
  EXPECT_NE(ref::shingled("a b", kKey, 2), ref::shingled("b a", kKey, 2));
  // 64 equal words must not cancel each other out.
  std::string x, y;
  for (int i = 0; i < 64; ++i) {
    x += "x ";
    y += "y ";
  }
  EXPECT_NE(ref::shingled(x, kKey, 64), ref::shingled(y, kKey, 64));
}

// More marks on one letter than are sorted at once: still the same hashes for every cut.
TEST_F(Shingles, EndlessRunsOfMarks) {
  ref::Random random(5);
  static constexpr char32_t kMarks[] = {0x301, 0x327, 0x345, 0x315, 0x334, 0x5b0, 0x1d165};
  for (size_t marks : {1023u, 1024u, 1025u, 5000u}) {
    std::u32string text = U"one a";
    for (size_t i = 0; i < marks; ++i) text += kMarks[ref::below(random, std::size(kMarks))];
    text += U"b two";
    const std::string bytes = ref::to_utf8(text);
    const Hashes want = expected(bytes, 1);
    for (size_t longest : {1u, 7u, 100u, 9000u})
      ASSERT_EQ(in_pieces(bytes, 1, random, longest), want) << marks;
  }
}

// A hundred megabytes of x, ten of the others: linear time, and memory does not grow.
TEST_F(Shingles, EndlessRepeats) {
  Shingler shingler(kKey, 1);
  for (std::string_view unit : {"x", "é", "\u0301", "漢", " ", "\xff", "\u00ad"}) {
    std::string piece;
    while (piece.size() < (1 << 20)) piece += unit;
    PodVector<uint64_t> out;
    const int pieces = unit == "x" ? 100 : 10;
    for (int i = 0; i < pieces; ++i) {
      shingler.update(piece, out);
      if (unit == "漢") {
        ASSERT_EQ(out.size(), piece.size() / 3 - (i == 0 ? 1 : 0));
      } else {
        ASSERT_TRUE(out.empty());
      }
      out.clear();
    }
    shingler.finish(out);
    EXPECT_EQ(out.size(), unit == " " || unit == "\xff" || unit == "\u00ad" ? 0u : 1u) << unit;
  }
}

}  // namespace
}  // namespace doppel
