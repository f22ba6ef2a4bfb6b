#include "insight/text_diff.h"

#include <gtest/gtest.h>

#include <random>

#include "fmt/format.h"
#include "insight/show.h"

namespace doppel {
namespace {

std::string plain(std::string_view a, std::string_view b, size_t context = 12) {
  return render_diff(diff_pieces(diff_texts(a, b), context), false);
}

// Checks that the pieces contain all of both texts, in order.
void expect_complete(const TextDiff& diff, const std::vector<DiffPiece>& pieces) {
  std::string a;
  std::string b;
  for (const DiffPiece& p : pieces) {
    a += p.a;
    b += p.b;
  }
  EXPECT_EQ(a, diff.a_words.empty() ? std::string_view() : diff.a);
  EXPECT_EQ(b, diff.b_words.empty() ? std::string_view() : diff.b);
}

TEST(TextDiff, ShowsTheOriginalWords) {
  EXPECT_EQ(plain("The quick, brown fox.", "The quick, red fox."), "The quick, [-brown-]{+red+} fox.");
  EXPECT_EQ(plain("One two three", "one TWO four three!"), "One two {+four+} three");
  EXPECT_EQ(plain("a b c d", "a c d"), "a [-b-] c d");
  EXPECT_EQ(plain("same text", "same text more"), "same text {+more+}");
  EXPECT_EQ(plain("", "new text"), "{+new text+}");
  EXPECT_EQ(plain("gone text", ""), "[-gone text-]");
  EXPECT_EQ(plain("", ""), "");
  EXPECT_EQ(plain("Grüße aus KÖLN", "grüsse aus köln"), "Grüße aus KÖLN");
}

TEST(TextDiff, WordsAreEqualWhereTheIndexTakesThemForEqual) {
  const auto shown = [](std::string_view a, std::string_view b, Normalisation normalisation) {
    return render_diff(diff_pieces(diff_texts(a, b, normalisation), 12), false);
  };
  EXPECT_EQ(shown("On 5 May Zoë", "on 6 May zoe", Normalisation::standard),
            "On [-5-]{+6+} May [-Zoë-]{+zoe+}");
  EXPECT_EQ(shown("On 5 May Zoë", "on 6 May zoe", Normalisation::loose), "On 5 May Zoë");
  EXPECT_EQ(shown("On 5 May Zoë", "on 5 May Zoë", Normalisation::none), "[-On-]{+on+} 5 May Zoë");
}

TEST(TextDiff, LongEqualStretchesAreElided) {
  std::string middle;
  for (int i = 0; i < 100; ++i) middle += fmt::format("w{} ", i);
  EXPECT_EQ(plain("x " + middle + "y", "z " + middle + "y", 3),
            "[-x-]{+z+} w0 w1 w2 [... 98 equal words ...]");
  EXPECT_EQ(plain(middle + "old " + middle, middle + "new " + middle, 2),
            "[... 98 equal words ...] w98 w99 [-old-]{+new+} w0 w1 [... 98 equal words ...]");
}

TEST(TextDiff, ColourUsesShapesToo) {
  EXPECT_EQ(render_diff(diff_pieces(diff_texts("a b", "a c"), 5), true),
            "a \x1b[31;9m[-b-]\x1b[0m\x1b[32;4m{+c+}\x1b[0m");
}

TEST(TextDiff, TerminalCommandsInDocumentsDoNothing) {
  const std::string out = plain("clear \x1b[2J me \xff now", "clear \x1b[2J you \xff now");
  EXPECT_EQ(out.find('\x1b'), std::string::npos);
  EXPECT_EQ(out.find('\xff'), std::string::npos);
}

TEST(TextDiff, WordsOfOneLigatureStayTogether) {
  // U+FDFA is 18 letters and 3 spaces when decomposed: four words in the same three bytes.
  const std::string a = "before \xef\xb7\xba after";
  const std::string b = "before \xef\xb7\xba later";
  TextDiff diff = diff_texts(a, b);
  ASSERT_EQ(diff.a_words.size(), 3u);
  EXPECT_EQ(plain(a, b), "before \xef\xb7\xba [-after-]{+later+}");
}

TEST(TextDiff, PiecesHoldBothTextsOnRandomInput) {
  const uint64_t seed = 4711;
  const std::vector<std::string> parts{
      "a", "B",   "c1",           " ",  " ", " ", ", ", ". ", "\n", "\xff", "\xc3\xa9", "漢", "\xe0\xb8\x81",
      "½", "<b>", "\xef\xac\x81", "x_y"};
  for (uint64_t round = 0; round < 500; ++round) {
    std::mt19937_64 random(seed + round);
    SCOPED_TRACE(seed + round);
    auto make = [&] {
      std::string text;
      for (size_t n = random() % 120; n > 0; --n) text += parts[random() % parts.size()];
      return text;
    };
    const std::string a = make();
    std::string b = make();
    if (round % 2 == 0) {
      b = a;
      b.insert(random() % (b.size() + 1), make());
    }
    TextDiff diff = diff_texts(a, b);
    for (size_t context : {0, 1, 5, 100}) expect_complete(diff, diff_pieces(diff, context));
    EXPECT_EQ(diff.equal + diff.removed, diff.a_words.size());
    EXPECT_EQ(diff.equal + diff.added, diff.b_words.size());
  }
}

TEST(TextDiff, OneMegabyteOfUnrelatedTextTakesSecondsAtMost) {
  std::mt19937_64 random(3);
  std::string a;
  std::string b;
  while (a.size() < 1'000'000) a += fmt::format("w{} ", random() % 20'000);
  while (b.size() < 1'000'000) b += fmt::format("w{} ", random() % 20'000);
  TextDiff diff = diff_texts(a, b);
  expect_complete(diff, diff_pieces(diff, 10));
}

TEST(Show, Escapes) {
  EXPECT_EQ(html_escape("<a href=\"x\">'&'</a>"), "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;");
  EXPECT_EQ(printable(std::string("a\0b\r\n\x1b\x7f", 7)),
            "a\xef\xbf\xbd"
            "b\n\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(printable("\xe2\x80\xae"
                      "evil"),
            "\xef\xbf\xbd"
            "evil");  // right-to-left override
  EXPECT_EQ(one_line("one\ntwo three", 7), "one two...");
  EXPECT_EQ(one_line("äöü", 3), "äöü");
}

TEST(Show, Numbers) {
  EXPECT_EQ(counted(0, "file"), "0 files");
  EXPECT_EQ(counted(1, "file"), "1 file");
  EXPECT_EQ(counted(1'000, "file"), "1,000 files");
  EXPECT_EQ(with_commas(0), "0");
  EXPECT_EQ(with_commas(999), "999");
  EXPECT_EQ(with_commas(1234567), "1,234,567");
  EXPECT_EQ(with_unit(0), "0 bytes");
  EXPECT_EQ(with_unit(1536), "1.50 KiB");
  EXPECT_EQ(with_unit(8.0 * (1 << 30)), "8.00 GiB");
  EXPECT_EQ(as_chance(0), "0 %");
  EXPECT_EQ(as_chance(1), "100 %");
  EXPECT_EQ(as_chance(0.5), "50.0 %");
  EXPECT_EQ(as_chance(0.9956), "99.56 %");
  EXPECT_EQ(as_chance(0.99999), "99.999 %");
  EXPECT_EQ(as_chance(2.4e-7), "1 in 4,200,000");
}

}  // namespace
}  // namespace doppel
