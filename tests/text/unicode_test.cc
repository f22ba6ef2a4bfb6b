// The generated tables and the normaliser against ICU.

#include <gtest/gtest.h>

#include "reference.h"
#include "text/words.h"

namespace doppel {
namespace {

namespace ref = reference;
constexpr HashKey kKey{0x0123456789abcdef, 0xfedcba9876543210};

std::vector<std::string> texts(const std::vector<WordSpan>& spans) {
  std::vector<std::string> result;
  for (const WordSpan& span : spans) result.push_back(span.text);
  return result;
}

void expect_same_as_icu(const std::string& text) {
  const std::vector<std::string> expected = ref::words(text);
  ASSERT_EQ(texts(split_words(text)), expected) << text;
  ASSERT_EQ(ref::shingled(text, kKey, 1), ref::shingles(expected, kKey, 1)) << text;
  ASSERT_EQ(ref::shingled(text, kKey, 5), ref::shingles(expected, kKey, 5)) << text;
}

TEST(Unicode, EveryCodePoint) {
  std::u32string alone, inside, after_single;
  auto check = [&] {
    expect_same_as_icu(ref::to_utf8(alone));
    expect_same_as_icu(ref::to_utf8(inside));
    expect_same_as_icu(ref::to_utf8(after_single));
    alone.clear();
    inside.clear();
    after_single.clear();
  };
  for (UChar32 c = 0; c < 0x110000; ++c) {
    // The private-use planes and the empty ones are uniform: checks only a part of them.
    if (c >= 0x40000 && c < 0xe0000 && c % 257 != 0 && (c & 0xffff) < 0xfff0) continue;
    if (!ref::is_settled(c)) continue;
    const auto point = static_cast<char32_t>(c);
    alone += std::u32string{point, U' '};
    inside += std::u32string{U' ', U'a', U'\u0323', point, U'\u0301', U'b', point};
    after_single += std::u32string{U'か', point, U'x'};
    if (alone.size() > 4000) check();
    if (HasFatalFailure()) return;
  }
  check();
}

TEST(Unicode, RandomSequences) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    ref::Random random(seed);
    expect_same_as_icu(ref::to_utf8(ref::random_text(random, 1 + ref::below(random, 400))));
    if (HasFatalFailure()) return;
  }
}

// All spellings of a text that are equivalent by compatibility.
TEST(Unicode, NormalFormsDoNotMatter) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    ref::Random random(seed);
    const std::u16string text = ref::from_utf8(ref::to_utf8(ref::random_text(random, 300)));
    const std::vector<uint64_t> expected = ref::shingled(ref::to_utf8(text), kKey, 3);
    for (ref::Form form : {ref::Form::nfc, ref::Form::nfd, ref::Form::nfkc, ref::Form::nfkd}) {
      ASSERT_EQ(ref::shingled(ref::to_utf8(ref::normalised(text, form)), kKey, 3), expected);
    }
  }
}

std::vector<std::string> words_of(std::string_view text) { return texts(split_words(text)); }
using Words = std::vector<std::string>;

TEST(Unicode, Examples) {
  EXPECT_EQ(words_of("The QUICK, brown-fox_2!"), (Words{"the", "quick", "brown", "fox_2"}));
  EXPECT_EQ(words_of("ＦＵＬＬ　Ｗｉｄｔｈ"), (Words{"full", "width"}));
  EXPECT_EQ(words_of("a\u00a0b"), (Words{"a", "b"}));
  EXPECT_EQ(words_of("Straße STRASSE ﬁne"), (Words{"strasse", "strasse", "fine"}));
  EXPECT_EQ(words_of("soft\u00adhyphen a\u200db \ufeffx\ufe0f"), (Words{"softhyphen", "ab", "x"}));
  EXPECT_EQ(words_of("漢字"), (Words{"漢", "字"}));
  EXPECT_EQ(words_of("ガ"), (Words{"カ\u3099"}));
  EXPECT_EQ(words_of("abc漢def"), (Words{"abc", "漢", "def"}));
  EXPECT_EQ(words_of("ที่"), (Words{"ท\u0e35\u0e48"}));
  EXPECT_EQ(words_of("कि मैं"), (Words{"कि", "मैं"}));
  EXPECT_EQ(words_of("مرحبا بك"), (Words{"مرحبا", "بك"}));
  EXPECT_EQ(words_of("😀 👩‍👩‍👧 ok"), (Words{"ok"}));
  EXPECT_EQ(words_of("I❤️NY"), (Words{"i", "ny"}));
  EXPECT_EQ(words_of("½"), (Words{"1", "2"}));
  // U+0345 sorts behind the acute before it becomes an iota.
  EXPECT_EQ(words_of("α\u0345\u0301"), (Words{"α\u0301ι"}));
  EXPECT_EQ(words_of("ᾳ\u0301"), words_of("ά\u0345"));
  EXPECT_EQ(words_of("か\u0345\u0301x"), (Words{"か\u0301", "ιx"}));
}

TEST(Unicode, SpansPointIntoTheOriginal) {
  const std::string text = "Ab\u00ad\u00c9, ½漢";
  const std::vector<WordSpan> spans = split_words(text);
  ASSERT_EQ(spans.size(), 4u);
  EXPECT_EQ(text.substr(spans[0].begin, spans[0].end - spans[0].begin), "Ab\u00ad\u00c9");
  EXPECT_EQ(spans[0].text, "abe\u0301");
  EXPECT_EQ(text.substr(spans[1].begin, spans[1].end - spans[1].begin), "½");
  EXPECT_EQ(text.substr(spans[2].begin, spans[2].end - spans[2].begin), "½");
  EXPECT_EQ(text.substr(spans[3].begin, spans[3].end - spans[3].begin), "漢");
}

}  // namespace
}  // namespace doppel
