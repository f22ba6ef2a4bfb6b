// The oracle on documents whose verdicts anyone can work out by hand.

#include "oracle/oracle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "oracle/random.h"
#include "oracle/words.h"

namespace doppel::oracle {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Returns words a0 a1 a2 ...: `count` of them from `first` on.
std::string run(int first, int count, const std::string& letter = "a") {
  std::string text;
  for (int i = first; i < first + count; ++i) text += letter + std::to_string(i) + " ";
  return text;
}

Answer feed(Oracle& oracle, std::string_view text, std::string_view scope = {},
            std::optional<int64_t> time = {}) {
  return oracle.feed({.text = text, .scope = scope, .timestamp_ms = time});
}

TEST(Words, CutsAtEverythingThatIsNoLetterMarkNumberOrUnderscore) {
  EXPECT_THAT(words("Don't stop: 3.14 snake_case e-mail!"),
              ElementsAre("don", "t", "stop", "3", "14", "snake_case", "e", "mail"));
  EXPECT_THAT(words(""), IsEmpty());
  EXPECT_THAT(words(" .,\n-- "), IsEmpty());
}

TEST(Words, FoldsCaseAndForm) {
  EXPECT_THAT(words("STRASSE"), ElementsAre("strasse"));
  EXPECT_THAT(words("Straße"), ElementsAre("strasse"));
  EXPECT_EQ(words("Zo\u00eb"), words("ZOE\u0308"));
  EXPECT_EQ(words("\uff28\uff45\uff4c\uff4c\uff4f\u3000\uff17"), words("hello 7"));
  EXPECT_THAT(words("so\u00adft zero\u200bwidth"), ElementsAre("soft", "zerowidth"));
  EXPECT_THAT(words("\ufb01ne \u2460 x\u00b2"), ElementsAre("fine", "1", "x2"));
  EXPECT_THAT(words("bad\xffutf8"), ElementsAre("bad", "utf8"));
}

TEST(Words, OneCharacterEachWhereThereAreNoSpaces) {
  EXPECT_THAT(words("中文abc字"), ElementsAre("中", "文", "abc", "字"));
  EXPECT_THAT(words("กี่"), ElementsAre("กี่"));
  EXPECT_THAT(words("ガ"), ElementsAre("カ\u3099"));
  EXPECT_THAT(words("한국"), ElementsAre("\u1112\u1161\u11ab\u1100\u116e\u11a8"));
  EXPECT_THAT(words("हिन्दी में"), ElementsAre("हिन्दी", "में"));
}

TEST(Rule, TheFirstIsUniqueItsCopyExactItsRestyledCopyNear) {
  Oracle oracle({});
  EXPECT_EQ(feed(oracle, run(0, 10)).kind, Kind::unique);
  Answer exact = feed(oracle, run(0, 10));
  EXPECT_EQ(exact.kind, Kind::exact);
  EXPECT_EQ(exact.original, 0u);
  Answer near = feed(oracle, run(0, 10) + "!");
  EXPECT_EQ(near.kind, Kind::near);
  EXPECT_EQ(near.original, 0u);
  EXPECT_EQ(near.similarity, (Ratio{6, 6}));
}

TEST(Rule, ExactlyAtTheThresholdIsADuplicate) {
  // 12 and 14 words: 8 of 10 shingles in common.
  Oracle oracle({});
  feed(oracle, run(0, 12));
  Answer at = feed(oracle, run(0, 14));
  EXPECT_EQ(at.kind, Kind::near);
  EXPECT_EQ(at.similarity, (Ratio{8, 10}));
  Oracle stricter({.threshold_ppm = 800'001});
  feed(stricter, run(0, 12));
  Answer below = feed(stricter, run(0, 14));
  EXPECT_EQ(below.kind, Kind::unique);
  EXPECT_EQ(below.best, 0u);
  EXPECT_EQ(below.best_similarity, (Ratio{8, 10}));
}

TEST(Rule, RepeatedShinglesCountOnce) {
  Oracle oracle({});
  feed(oracle, "a b c d e f");
  Answer again = feed(oracle, "a b c d e f a b c d e f");
  EXPECT_EQ(again.best_similarity, (Ratio{2, 6}));
}

TEST(Rule, DuplicatesAreNoOriginals) {
  Oracle oracle({});
  feed(oracle, run(0, 104));                             // 100 shingles
  EXPECT_EQ(feed(oracle, run(0, 94)).kind, Kind::near);  // 90 of 100
  Answer third = feed(oracle, run(0, 79));               // 75 of 100; 75 of 90 to the duplicate
  EXPECT_EQ(third.kind, Kind::unique);
  EXPECT_THAT(oracle.live_originals(), ElementsAre(0, 2));
}

TEST(Rule, TheMostSimilarWinsAndOfEqualOnesTheEarliest) {
  Oracle oracle({.threshold_ppm = 500'000});
  feed(oracle, run(0, 24));                   // 20 shingles
  feed(oracle, run(0, 12) + run(100, 12));    // shares 8
  feed(oracle, run(100, 12) + run(200, 12));  // shares 8 with the one before
  EXPECT_THAT(oracle.live_originals(), ElementsAre(0, 1, 2));
  Answer closer = feed(oracle, run(0, 22));
  EXPECT_EQ(closer.original, 0u);
  Answer tie = feed(oracle, run(100, 12));  // 8 of 20 in both
  EXPECT_EQ(tie.best, 1u);
  EXPECT_EQ(tie.best_similarity, (Ratio{8, 20}));
}

TEST(Rule, BelowOneShingleOnlyTheTextCounts) {
  Oracle oracle({});
  EXPECT_EQ(feed(oracle, "one two three four").kind, Kind::unique);
  EXPECT_EQ(feed(oracle, "One two three four").kind, Kind::unique);
  Answer same = feed(oracle, "one two three four");
  EXPECT_EQ(same.kind, Kind::exact);
  EXPECT_EQ(same.original, 0u);
  EXPECT_EQ(feed(oracle, "...").kind, Kind::unique);
  EXPECT_EQ(feed(oracle, "...").original, 3u);
}

TEST(Rule, EmptyTextIsUnscored) {
  Oracle oracle({});
  EXPECT_EQ(feed(oracle, "").kind, Kind::unscored);
  EXPECT_EQ(feed(oracle, "").kind, Kind::unscored);
  EXPECT_THAT(oracle.live_originals(), IsEmpty());
}

TEST(Rule, ScopesNeverMeet) {
  Oracle oracle({});
  EXPECT_EQ(feed(oracle, run(0, 20), "x").kind, Kind::unique);
  EXPECT_EQ(feed(oracle, run(0, 20), "y").kind, Kind::unique);
  EXPECT_EQ(feed(oracle, run(0, 20), "y").original, 1u);
  EXPECT_EQ(feed(oracle, run(0, 20) + ".", "x").original, 0u);
}

TEST(Removal, TheNextCopyBecomesAnOriginal) {
  Oracle oracle({});
  feed(oracle, run(0, 20));
  feed(oracle, run(0, 20) + ".");
  EXPECT_FALSE(oracle.remove(1));
  EXPECT_TRUE(oracle.remove(0));
  EXPECT_FALSE(oracle.remove(0));
  EXPECT_EQ(feed(oracle, run(0, 20)).kind, Kind::unique);
  EXPECT_EQ(feed(oracle, run(0, 20)).original, 2u);
  oracle.expire_below(3);
  EXPECT_EQ(feed(oracle, run(0, 20)).kind, Kind::unique);
}

TEST(Expiry, FollowsTheWatermarkBeforeTheDocumentThatMovesIt) {
  Oracle oracle({.expire_after_ms = 100, .watermark_rank = 2, .generation = 1});
  feed(oracle, "", {}, 1'000);
  feed(oracle, "", {}, 1'000);  // the watermark is 1,000
  feed(oracle, run(0, 20), {}, 1'000);
  feed(oracle, run(0, 20, "b"), {}, 999'999);  // one clock runs ahead: the watermark is still 1,000
  EXPECT_EQ(feed(oracle, run(0, 20), {}, 1'050).original, 2u);        // now 1,050
  EXPECT_EQ(feed(oracle, run(0, 20), {}, 1'100).original, 2u);        // now 1,100: not older than 100
  EXPECT_EQ(feed(oracle, run(0, 20), {}, 1'101).kind, Kind::unique);  // now 1,101: gone before it is judged
  EXPECT_THAT(oracle.live_originals(), ElementsAre(3, 6));
  // The original from the fast clock counts as no younger than the watermark was.
  feed(oracle, "", {}, 1'101);
  EXPECT_THAT(oracle.live_originals(), ElementsAre(6));
}

TEST(Expiry, GenerationsGoAsAWholeAndNeverTheLastOne) {
  Oracle oracle({.expire_after_ms = 100, .watermark_rank = 1, .generation = 2});
  feed(oracle, run(0, 20, "a"), {}, 1'000);
  feed(oracle, run(0, 20, "b"), {}, 1'080);
  EXPECT_EQ(feed(oracle, run(0, 20, "a"), {}, 5'000).original, 0u);  // still the last generation
  feed(oracle, run(0, 20, "c"));  // no time: expires with the next that has one
  feed(oracle, run(0, 20, "d"));
  feed(oracle, run(0, 20, "e"), {}, 5'000);
  EXPECT_THAT(oracle.live_originals(), ElementsAre(3, 4, 5));
  feed(oracle, run(0, 20, "f"), {}, 5'010);
  feed(oracle, run(0, 20, "g"), {}, 5'111);
  EXPECT_THAT(oracle.live_originals(), ElementsAre(3, 4, 5, 6, 7));
  feed(oracle, run(0, 20, "h"), {}, 5'112);
  EXPECT_THAT(oracle.live_originals(), ElementsAre(7, 8));
}

TEST(Following, AnswersForTheOriginalsThatTheOtherDetectorHas) {
  Oracle oracle({});
  oracle.feed({.text = run(0, 104)}, {.original = true});
  Answer missed = oracle.feed({.text = run(0, 100)}, {.original = true});  // the other one missed it
  EXPECT_EQ(missed.kind, Kind::near);
  EXPECT_EQ(missed.best_similarity, (Ratio{96, 100}));
  Answer named = oracle.feed({.text = run(0, 99)}, {.duplicate_of = 0});
  EXPECT_EQ(named.original, 1u);
  EXPECT_EQ(named.best_similarity, (Ratio{95, 96}));
  EXPECT_EQ(named.named_similarity, (Ratio{95, 100}));
  Answer dead = oracle.feed({.text = run(0, 99)}, {.duplicate_of = 2});
  EXPECT_EQ(dead.named_similarity, (Ratio{}));
  Answer same = oracle.feed({.text = run(0, 100)}, {.duplicate_of = 1});
  EXPECT_TRUE(same.named_same_text);
}

// The oracle counts with an inverted index; this compares every pair of sets.
TEST(Rule, EqualsComparingAllPairs) {
  const uint64_t seed = 20'240'506;
  SCOPED_TRACE(seed);
  Random random(seed);
  OracleOptions options{.threshold_ppm = 600'000, .shingle_words = 2};
  Oracle oracle(options);
  struct Known {
    Number number;
    std::string text;
    std::set<std::pair<std::string, std::string>> set;
  };
  std::vector<Known> known;
  for (int n = 0; n < 600; ++n) {
    std::string text;
    for (uint64_t i = random.between(0, 9); i > 0; --i)
      text += std::string(1, static_cast<char>('a' + random.below(3))) + " ";
    std::vector<std::string> list = words(text);
    Known d{static_cast<Number>(n), text, {}};
    for (size_t i = 0; i + 1 < list.size(); ++i) d.set.emplace(list[i], list[i + 1]);
    std::optional<Number> best, exact;
    Ratio top;
    for (const Known& r : known) {
      uint64_t inter = static_cast<uint64_t>(
          std::count_if(d.set.begin(), d.set.end(), [&](const auto& s) { return r.set.contains(s); }));
      Ratio similarity{inter, d.set.size() + r.set.size() - inter};
      if (inter > 0 && similarity.inter * std::max<uint64_t>(top.uni, 1) > top.inter * similarity.uni) {
        best = r.number;
        top = similarity;
      }
      if (!exact && r.text == text) exact = r.number;
    }
    Answer answer = feed(oracle, text);
    EXPECT_EQ(answer.best, best);
    EXPECT_EQ(answer.best_similarity, top);
    bool near = top.inter * 1'000'000 >= top.uni * options.threshold_ppm && top.uni > 0;
    EXPECT_EQ(answer.kind, text.empty() ? Kind::unscored
                           : exact      ? Kind::exact
                           : near       ? Kind::near
                                        : Kind::unique);
    EXPECT_EQ(answer.original, exact ? exact : near ? best : std::nullopt);
    if (answer.kind == Kind::unique) known.push_back(std::move(d));
  }
}

}  // namespace
}  // namespace doppel::oracle
