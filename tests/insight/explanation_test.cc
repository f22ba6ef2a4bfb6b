#include "insight/explanation.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <sstream>

#include "fmt/format.h"

namespace doppel {
namespace {

EngineOptions options(double threshold = 0.8, Verify verify = Verify::exact) {
  EngineOptions o;
  o.scheme.key = {11, 22};
  o.rule = *make_rule(threshold, 0.995, 128);
  o.rule.verify = verify;
  return o;
}

// The oracle: runs of five lower-case ASCII words, as strings.
Overlap runs_of_five(const std::string& a, const std::string& b) {
  auto runs = [](const std::string& text) {
    std::istringstream in(text);
    std::vector<std::string> words{std::istream_iterator<std::string>(in), {}};
    std::set<std::vector<std::string>> out;
    for (size_t i = 0; i + 5 <= words.size(); ++i) out.insert({words.begin() + i, words.begin() + i + 5});
    return out;
  };
  const auto ra = runs(a);
  const auto rb = runs(b);
  uint64_t both = 0;
  for (const auto& run : ra) both += rb.count(run);
  return {both, ra.size() + rb.size() - both};
}

std::string random_text(std::mt19937_64& random, int words) {
  std::string text;
  for (int i = 0; i < words; ++i) text += fmt::format("w{} ", random() % 5000);
  return text;
}

std::string replaced_words(std::mt19937_64& random, const std::string& text, double share) {
  std::istringstream in(text);
  std::string out;
  std::string word;
  while (in >> word) out += (random() % 1000 < share * 1000 ? fmt::format("x{}", random()) : word) + " ";
  return out;
}

TEST(Explanation, ExactNumbersAreThoseOfTheShingles) {
  Explanation e = explain(options(), {.name = "a", .text = "one two three four five six seven"},
                          {.name = "b", .text = "One two, three four five six eight!"});
  EXPECT_EQ(e.exact, (Overlap{2, 4}));  // one..five, two..six of three on each side
  EXPECT_EQ(e.a.words, 7u);
  EXPECT_EQ(e.a.shingles, 3u);
  EXPECT_TRUE(e.comparable);
  EXPECT_EQ(e.bands.size(), static_cast<size_t>(options().rule.banding.bands));
}

std::vector<std::string> cut(std::string_view text, const std::vector<Passage>& passages) {
  std::vector<std::string> out;
  for (const Passage& p : passages) out.emplace_back(text.substr(p.bytes.begin, p.bytes.end - p.bytes.begin));
  return out;
}

TEST(Explanation, SaysWhatOneTextHasOfTheOther) {
  std::mt19937_64 random(7);
  const std::string part = "A " + random_text(random, 200) + "end";
  const std::string head = random_text(random, 90), tail = random_text(random, 300);
  const std::string whole = head + part + ". " + tail;
  EngineOptions o = options();
  const Explanation e = explain(o, {.name = "whole", .text = whole}, {.name = "part", .text = part});
  EXPECT_FALSE(is_duplicate(e.finding));
  ASSERT_TRUE(e.passages.has_value());
  EXPECT_EQ(e.passages->relation, Relation::contained);
  EXPECT_FALSE(e.passages->asked);
  EXPECT_EQ(e.passages->shared, 198u);
  EXPECT_EQ(cut(part, e.passages->in_second), std::vector{part});
  EXPECT_EQ(cut(whole, e.passages->in_first), std::vector{part});
  EXPECT_EQ(e.passages->in_first[0].words, (WordRange{90, 292}));
  EXPECT_TRUE(shows_passages(e));
  EXPECT_NE(explain_page(e, diff_texts(whole, part)).find("<mark>A w"), std::string::npos);

  const Explanation back = explain(o, {.name = "part", .text = part}, {.name = "whole", .text = whole});
  EXPECT_EQ(back.passages->relation, Relation::contains);
  const Explanation apart = explain(o, {.name = "a", .text = head}, {.name = "b", .text = tail});
  EXPECT_EQ(apart.passages->relation, std::nullopt);
  EXPECT_FALSE(shows_passages(apart));

  o.scheme.passage = 150;
  o.rule.relations = {.contained = true, .passage = 150, .partial_duplicate = true};
  const Explanation copy = explain(o, {.name = "whole", .text = whole}, {.name = "part", .text = part});
  EXPECT_TRUE(copy.passages->asked);
  EXPECT_EQ(copy.finding, Finding::contained);
  EXPECT_EQ(explain(o, {.name = "part", .text = part}, {.name = "whole", .text = whole}).finding,
            Finding::apart);
}

// Asks the engine itself: inserts the first text, then the second.
Outcome outcome_of(const EngineOptions& o, const NamedText& a, const NamedText& b) {
  auto bodies = memory_bodies();
  Engine engine(o, *bodies);
  Signer signer = engine.make_signer();
  Work work;
  Outcome outcome;
  for (const NamedText* text : {&a, &b}) {
    work.resize(1, o);
    SignedDocument& document = work.sign.documents[0];
    document = {};
    signer.sign(text->text, text->scope, document, work.sign.slices.data());
    MatchCounters counters;
    EXPECT_TRUE(engine.match(work, 0, 1, counters).ok());
    EXPECT_TRUE(engine.resolve(work).ok());
    outcome = work.resolved.outcomes[0];
  }
  return outcome;
}

TEST(Explanation, SaysWhatTheEngineDecides) {
  const uint64_t seed = 991;
  std::set<Finding> seen;
  int reported = 0;
  for (uint64_t round = 0; round < 400; ++round) {
    std::mt19937_64 random(seed + round);
    SCOPED_TRACE(seed + round);
    EngineOptions o = options(0.5 + static_cast<double>(random() % 45) / 100,
                              round % 5 == 0 ? Verify::signature : Verify::exact);
    if (round % 2 == 0) {
      ASSERT_TRUE(report_from(o.rule, o.rule.threshold_ppm * .6e-6, .995, 128).ok());
    }
    const std::string a = random_text(random, static_cast<int>(random() % (round % 3 == 0 ? 8 : 300)));
    const std::string b =
        round % 7 == 0 ? a : replaced_words(random, a, static_cast<double>(random() % 12) / 100);
    const NamedText first{.name = "a", .text = a, .scope = round % 11 == 0 ? "x" : ""};
    const NamedText second{.name = "b", .text = b, .scope = round % 22 == 0 ? "y" : first.scope};
    const Explanation e = explain(o, first, second);
    ASSERT_EQ(e.exact, e.comparable ? runs_of_five(a, b) : Overlap{});
    const Outcome outcome = outcome_of(o, first, second);
    ASSERT_EQ(is_duplicate(e.finding), outcome.verdict == Verdict::duplicate) << finding_name(e.finding);
    ASSERT_EQ(e.finding == Finding::exact, outcome.kind == Kind::exact);
    const bool similar = strongest_relation(outcome) == Relation::similar;
    ASSERT_EQ(is_similar(e), similar);
    reported += similar ? 1 : 0;
    if (e.finding == Finding::near) {
      ASSERT_EQ(e.decisive, outcome.similarity);
      ASSERT_EQ(e.estimated, outcome.estimated);
    }
    const PlainWords words = in_plain_words(e);
    ASSERT_FALSE(words.headline.empty());
    ASSERT_FALSE(words.sentences.empty());
    seen.insert(e.finding);
  }
  for (Finding f : {Finding::exact, Finding::near, Finding::near_miss, Finding::apart, Finding::too_short}) {
    EXPECT_TRUE(seen.contains(f)) << "never tried: " << finding_name(f);
  }
  EXPECT_GT(reported, 20);
}

TEST(Explanation, OddTexts) {
  auto finding = [](std::string_view a, std::string_view b, std::string_view scope_b = "") {
    return explain(options(), {.text = a}, {.text = b, .scope = scope_b}).finding;
  };
  EXPECT_EQ(finding("", ""), Finding::no_text);
  EXPECT_EQ(finding("", "some words that are long enough"), Finding::no_text);
  EXPECT_EQ(finding("two words", "two words"), Finding::exact);
  EXPECT_EQ(finding("two words", "two Words"), Finding::too_short);
  EXPECT_EQ(finding("one two three four five six", "ONE two three four five six"), Finding::near);
  EXPECT_EQ(finding("one two three four five six", "one two three four five six", "other"), Finding::scopes);
  EXPECT_TRUE(explain(options(), {.text = std::string_view("a\0b", 3)}, {.text = "x"}).a.not_text);
  EXPECT_TRUE(explain(options(), {.text = "\xff"}, {.text = "x"}).a.not_text);
  EXPECT_FALSE(explain(options(), {.text = "é"}, {.text = "x"}).a.not_text);
}

TEST(ExplainPage, EscapesAllThatComesFromDocuments) {
  const std::string evil = "</div><script>alert('1')</script> <img src=x onerror=alert(2)> \" onload=\"x ";
  const std::string a = evil + "one two three four five six seven eight nine ten";
  const std::string b = evil + "one two three " + evil + "five six seven eight nine ten";
  const Explanation e = explain(options(), {.name = "<b>\"name\"</b>", .text = a, .scope = "<s>"},
                                {.name = "'&'", .text = b, .scope = "<i>"});
  const std::string page = explain_page(e, diff_texts(a, b));
  for (const char* bad : {"<script", "<img", "<b>\"name", "<s>", "<i>", "'&'"}) {
    EXPECT_EQ(page.find(bad), std::string::npos) << bad;
  }
  EXPECT_NE(page.find("&lt;script&gt;"), std::string::npos);
  EXPECT_NE(page.find("<ins>"), std::string::npos);
  EXPECT_EQ(page.find("http://"), std::string::npos);  // the page loads nothing
  EXPECT_EQ(page.find("https://"), std::string::npos);
}

}  // namespace
}  // namespace doppel
