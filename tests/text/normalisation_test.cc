// The normalisers other than the default one, against their documentation; and values that must never change.

#include <gtest/gtest.h>

#include "base/simd.h"
#include "base/utf8.h"
#include "reference.h"
#include "text/shingler.h"
#include "text/unicode.h"
#include "text/words.h"

namespace doppel {
namespace {

namespace ref = reference;
using Hashes = std::vector<uint64_t>;
constexpr HashKey kKey{0x0123456789abcdef, 0xfedcba9876543210};

Hashes shingled(std::string_view text, int size, Normalisation how, ref::Random* cuts = nullptr) {
  Shingler shingler(kKey, size, how);
  PodVector<uint64_t> out;
  while (cuts != nullptr && !text.empty()) {
    const size_t n = std::min(text.size(), 1 + ref::below(*cuts, 5000));
    shingler.update(text.substr(0, n), out);
    text.remove_prefix(n);
  }
  shingler.update(text, out);
  shingler.finish(out);
  return {out.begin(), out.end()};
}

// What stands between two words: ASCII as it is, nothing for what is ignored, space for the rest.
std::string between(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    char32_t c = 0;
    const int size = utf8::decode(reinterpret_cast<const uint8_t*>(text.data()) + at, text.size() - at, c);
    at += size > 0 ? static_cast<size_t>(size) : 1;
    if (size > 0 && unicode::value_of(c) == unicode::kIgnored) continue;
    out += size > 0 && c < 0x80 ? static_cast<char>(c) : ' ';
  }
  return out;
}

bool in_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || (c & 0x80) != 0;
}
bool is_letter(char c) { return c >= 'a' && c <= 'z'; }

// Makes the loosened text as a whole, joins what loose joins by looking at both sides, and splits it.
std::vector<std::string> loose_words(std::string_view text) {
  std::string whole = " ";
  size_t end = 0;
  for (const WordSpan& word : split_words(text)) {
    // Words of one ligature, and words beside single characters, have nothing between them.
    whole += word.begin > end ? between(text.substr(end, word.begin - end)) : " ";
    if (in_word(whole.back()) || word.apart_before) whole += ' ';
    end = word.end;
    std::string kept;
    for (size_t i = 0; i < word.text.size(); ++i) {
      const auto c = static_cast<unsigned char>(word.text[i]);
      const auto next = static_cast<unsigned char>(i + 1 < word.text.size() ? word.text[i + 1] : 0);
      const int two = (c & 0x1f) << 6 | (next & 0x3f);
      if ((c & 0xe0) == 0xc0 && two >= 0x300 && two <= 0x36f) {
        ++i;
      } else {
        kept += c >= '0' && c <= '9' ? '0' : static_cast<char>(c);
      }
    }
    whole += kept;
    if (word.apart_after) whole += ' ';
  }
  whole += "  ";
  std::vector<std::string> out(1);
  for (size_t i = 1; i + 2 < whole.size(); ++i) {
    const char left = whole[i - 1], c = whole[i], right = whole[i + 1];
    const bool number = (c == '.' || c == ',') && left == '0' && right == '0';
    const bool letters = c == '.' && i > 1 && is_letter(left) && !in_word(whole[i - 2]) && is_letter(right) &&
                         !in_word(whole[i + 2]);
    if (number || letters) continue;
    if (in_word(c)) {
      out.back() += c;
    } else if (!out.back().empty()) {
      out.emplace_back();
    }
  }
  if (out.back().empty()) out.pop_back();
  return out;
}

std::vector<std::string> raw_words(std::string_view text) {
  std::vector<std::string> out(1);
  for (const char each : text) {
    const auto c = static_cast<unsigned char>(each);
    const bool upper = c >= 'A' && c <= 'Z';
    if (upper || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c >= 0x80) {
      out.back() += static_cast<char>(upper ? c | 0x80 : c);
    } else if (!out.back().empty()) {
      out.emplace_back();
    }
  }
  if (out.back().empty()) out.pop_back();
  return out;
}

// The fast search for places of words finds the same places as the slow one.
void check_places(std::string_view text) {
  std::vector<WordPlace> standard;
  for (const WordSpan& word : split_words(text)) standard.push_back({word.begin, word.end});
  ASSERT_EQ(word_places(text, Normalisation::standard), standard);
  ASSERT_EQ(word_places(text, Normalisation::loose).size(), loose_words(text).size());
  std::vector<std::string> raw;
  for (const WordPlace& place : word_places(text, Normalisation::none)) {
    raw.emplace_back(text.substr(place.begin, place.end - place.begin));
    for (char& c : raw.back()) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c | 0x80 : c);
  }
  ASSERT_EQ(raw, raw_words(text));
}

TEST(Normalisation, PlacesOfWords) {
  using Places = std::vector<WordPlace>;
  EXPECT_EQ(word_places("one, Two_3", Normalisation::standard), (Places{{0, 3}, {5, 10}}));
  EXPECT_EQ(word_places("x \u0301 y", Normalisation::standard), (Places{{0, 1}, {2, 4}, {5, 6}}));
  EXPECT_EQ(word_places("x \u0301 y", Normalisation::loose), (Places{{0, 1}, {5, 6}}));
  EXPECT_EQ(word_places("x \u00bd y", Normalisation::standard), (Places{{0, 1}, {2, 4}, {2, 4}, {5, 6}}));
  EXPECT_EQ(word_places("x \u00bd y", Normalisation::none), (Places{{0, 1}, {2, 4}, {5, 6}}));
  EXPECT_EQ(word_places("U.S. 1,000.5!", Normalisation::loose), (Places{{0, 3}, {5, 12}}));
  EXPECT_EQ(word_places("U.S. 1,000", Normalisation::standard), (Places{{0, 1}, {2, 3}, {5, 6}, {7, 10}}));
  EXPECT_TRUE(word_places("", Normalisation::standard).empty());
}

// Words are found a block at a time: a word may cross the end of a block, or be longer than one.
TEST(Normalisation, PlacesOfWordsInALongText) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::string text;
    const size_t rare = 1 + random() % 400;
    while (text.size() < 40'000) {
      const size_t size = random() % 500 == 0 ? random() % 20'000 : random() % 12;
      for (size_t i = 0; i < size; ++i) text += "abcXYZ_09"[random() % 9];
      if (random() % rare == 0) text += random() % 2 == 0 ? "\u00e9" : "\u4e2d";
      if (random() % 20 != 0) text += " .,\n"[random() % 4];
    }
    for (const Simd level : simd_levels()) {
      force_simd(level);
      check_places(text);
    }
    force_simd(simd_supported());
  }
}

TEST(Normalisation, IsWhatItSays) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    ref::Random random(seed);
    std::string text;
    for (size_t part = 1 + ref::below(random, 6); part > 0; --part) {
      if (ref::below(random, 3) == 0) {
        for (size_t k = ref::below(random, 9000); k > 0; --k)
          text += static_cast<char>(ref::below(random, 0x80));
      } else {
        text += ref::to_utf8(ref::random_text(random, ref::below(random, 9000)));
      }
      if (ref::below(random, 3) == 0)
        text +=
            "Ca\xcc\x81"
            "f\xc3\xa9 \xd0\x99 2024 \xef\xbc\x91";
    }
    for (size_t k = ref::below(random, 3000); k > 0; --k) {
      static constexpr std::string_view kParts[] = {
          "a", "S", "1",      "23",     "x5",     ".",      ".",      ",",      ",",
          " ", "_", "\u0301", "\u200b", "\u00bd", "\u2488", "\uff0c", "\u6f22", "\u0439"};
      text += kParts[ref::below(random, std::size(kParts))];
    }
    check_places(text);
    for (const Simd level : simd_levels()) {
      force_simd(level);
      for (const int size : {1, 5}) {
        ASSERT_EQ(shingled(text, size, Normalisation::loose, &random),
                  ref::shingles(loose_words(text), kKey, size));
        ASSERT_EQ(shingled(text, size, Normalisation::none, &random),
                  ref::shingles(raw_words(text), kKey, size));
      }
    }
    force_simd(simd_supported());
  }
}

TEST(Normalisation, WhatIsEqual) {
  const auto equal = [](std::string_view a, std::string_view b, Normalisation how) {
    return shingled(a, 2, how) == shingled(b, 2, how);
  };
  using enum Normalisation;
  EXPECT_TRUE(equal("Caf\xc3\xa9 noir 1999", "cafe NOIR 2024", loose));
  EXPECT_FALSE(equal("Caf\xc3\xa9 noir 1999", "cafe noir 1999", standard));
  EXPECT_TRUE(equal("In the U.S. 1,000 or 1.5e 3 e.g. here", "in the US 1000 or 15e 3 eg here", loose));
  EXPECT_FALSE(equal("the U.S. here", "the US here", standard));
  for (const std::string_view apart : {"end.Next one", "a,b c", "x.com is", "ab.c d", "c.ab d", "1,a b"}) {
    std::string joined(apart);
    std::erase_if(joined, [](char c) { return c == '.' || c == ','; });
    EXPECT_FALSE(equal(apart, joined, loose)) << apart;
  }
  EXPECT_FALSE(equal("Cafe noir", "cafe noir", none));
  EXPECT_TRUE(equal("cafe, noir", "cafe noir.", none));
  EXPECT_TRUE(
      equal("\xd0\x99\xd0\xbe\xd0\xb3 \xce\x86\xce\xbb", "\xd0\xb8\xd0\xbe\xd0\xb3 \xce\xb1\xce\xbb", loose));
}

// Signatures are stored for years: these bytes must not change under the scheme's names.
TEST(Normalisation, GoldenValues) {
  constexpr std::string_view kText = "The Caf\xc3\xa9 at No. 42 opened in 1999, \xd0\x99\xd0\xbe\xd0\xb3.";
  const auto golden = [&](Normalisation how) {
    uint64_t sum = 0;
    for (const uint64_t hash : shingled(kText, 3, how)) sum = sum * 31 + hash;
    return sum;
  };
  EXPECT_EQ(normalisation_name(Normalisation::standard), "1");
  EXPECT_EQ(golden(Normalisation::standard), 4517496197547179929u);
  EXPECT_EQ(normalisation_name(Normalisation::loose), "loose-2");
  EXPECT_EQ(golden(Normalisation::loose), 1984480991666661327u);
  EXPECT_EQ(normalisation_name(Normalisation::none), "none-1");
  EXPECT_EQ(golden(Normalisation::none), 1252212959358414788u);
}

}  // namespace
}  // namespace doppel
