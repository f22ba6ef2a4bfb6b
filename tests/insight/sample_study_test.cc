#include "insight/sample_study.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "fmt/format.h"
#include "insight/explanation.h"
#include "insight/plots.h"
#include "insight/sizing.h"
#include "svg_labels.h"

namespace doppel {
namespace {

EngineOptions options() {
  EngineOptions o;
  o.scheme.key = {5, 6};
  o.rule = *make_rule(0.7, 0.995, 128);
  return o;
}

// Copies with some words replaced, boilerplate in all of them, a few short and empty ones.
std::vector<std::string> some_documents(std::mt19937_64& random) {
  std::vector<std::string> out;
  for (int i = 0; i < 60; ++i) {
    std::string text = "home news about contact imprint and terms of use ";
    if (i % 3 != 0) {
      text = out[random() % out.size()];
      for (int edits = static_cast<int>(random() % 6); edits > 0 && !text.empty(); --edits) {
        text.insert(random() % text.size(), fmt::format(" n{} ", random() % 1000));
      }
    } else {
      for (int w = 0; w < 80; ++w) text += fmt::format("w{} ", random() % 2000);
    }
    if (i % 20 == 19) text = i % 40 == 19 ? "" : "too short";
    out.push_back(text);
  }
  return out;
}

TEST(SampleStudy, CountsWhatPairByPairComparisonCounts) {
  const uint64_t seed = 31;
  for (uint64_t round = 0; round < 8; ++round) {
    std::mt19937_64 random(seed + round);
    SCOPED_TRACE(seed + round);
    const EngineOptions o = options();
    std::vector<std::string> documents = some_documents(random);
    SampleStudy study(o);
    std::vector<std::string> comparable;
    for (const std::string& text : documents) {
      const uint64_t before = study.documents();
      study.add(text, "", 10);
      if (study.documents() > before) comparable.push_back(text);
    }
    const StudyResult result = study.finish([](uint64_t, uint64_t) {});
    ASSERT_EQ(result.documents, comparable.size());
    ASSERT_EQ(study.documents() + study.too_short() + study.without_text(), documents.size());

    std::vector<uint64_t> pairs(100);
    uint64_t similar = 0;
    uint64_t found = 0;
    uint64_t candidates = 0;
    uint64_t in_vain = 0;
    uint64_t at_80 = 0;
    std::vector<bool> original(comparable.size(), true);
    for (size_t i = 0; i < comparable.size(); ++i) {
      bool duplicate = false;
      for (size_t j = 0; j < i; ++j) {
        const Explanation e = explain(o, {.text = comparable[j]}, {.text = comparable[i]});
        if (e.exact.inter == 0) continue;
        ++pairs[std::min<uint32_t>(similarity_ppm(e.exact) / 10'000, 99)];
        const bool is_similar = reaches(e.exact, o.rule.threshold_ppm);
        const bool candidate = e.bands_met() > 0 && e.equal_slices >= o.rule.min_equal;
        similar += is_similar ? 1 : 0;
        found += is_similar && candidate ? 1 : 0;
        at_80 += reaches(e.exact, 800'000) ? 1 : 0;
        if (original[j]) {
          candidates += candidate ? 1 : 0;
          in_vain += candidate && !is_similar ? 1 : 0;
          duplicate = duplicate || (candidate && is_similar);
        }
      }
      original[i] = !duplicate;
    }
    EXPECT_EQ(result.pairs, pairs);
    EXPECT_EQ(result.pairs_similar, similar);
    EXPECT_EQ(result.pairs_found, found);
    EXPECT_EQ(result.candidates, candidates);
    EXPECT_EQ(result.candidates_false, in_vain);
    EXPECT_EQ(result.originals, static_cast<uint64_t>(std::count(original.begin(), original.end(), true)));
    EXPECT_EQ(result.thresholds[6].threshold, 0.8);
    EXPECT_EQ(result.thresholds[6].pairs, at_80);
    EXPECT_LT(result.estimate_rmse, 0.06);
    EXPECT_GT(similar, 10u) << "the sample says nothing";
  }
}

TEST(SampleStudy, TooMuchWorkComparesTheFirstOnes) {
  SampleStudy study(options(), 1'000'000, 100);
  std::mt19937_64 random(1);
  for (const std::string& text : some_documents(random)) study.add(text, "", 10);
  const uint64_t added = study.documents();
  const StudyResult result = study.finish([](uint64_t, uint64_t) {});
  EXPECT_GT(result.documents, 2u);
  EXPECT_LT(result.documents, added);
  EXPECT_EQ(result.documents + result.left_out, added);
}

TEST(SampleStudy, ScopesDoNotMeet) {
  const std::string text = "one two three four five six seven eight nine ten";
  SampleStudy study(options());
  study.add(text, "a", 0);
  study.add(text, "b", 0);
  study.add(text, "b", 0);
  const StudyResult result = study.finish([](uint64_t, uint64_t) {});
  EXPECT_EQ(result.pairs_similar, 1u);
  EXPECT_EQ(result.originals, 2u);
}

TEST(Valley, IsTheMiddleOfTheWidestRareStretch) {
  std::vector<uint64_t> pairs(100, 100);
  std::fill(pairs.begin() + 70, pairs.begin() + 80, 1);
  const Valley v = find_valley(pairs);
  EXPECT_TRUE(v.clear);
  EXPECT_DOUBLE_EQ(v.from, 0.71);  // smoothing removes its edges
  EXPECT_DOUBLE_EQ(v.to, 0.79);
  EXPECT_DOUBLE_EQ(v.threshold, 0.75);
  EXPECT_EQ(v.pairs_in_it, 8u);
  EXPECT_FALSE(find_valley(std::vector<uint64_t>(100, 100)).clear);
  std::vector<uint64_t> dent(100, 100);
  dent[60] = 0;
  EXPECT_FALSE(find_valley(dent).clear);
  EXPECT_TRUE(find_valley(std::vector<uint64_t>(100, 0)).clear);
}

TEST(Sizing, AgreesWithARealIndex) {
  EngineOptions o = options();
  o.rule.banding = {18, 6};
  CandidateIndex index({.banding = o.rule.banding, .key = o.scheme.key});
  std::mt19937_64 random(9);
  constexpr int kRows = 200'000;
  constexpr int kAtOnce = 1000;
  std::vector<uint8_t> slices(kAtOnce * 128);
  std::vector<uint64_t> keys(kAtOnce * 18);
  const uint32_t mask = 0x3ffff;
  for (int from = 0; from < kRows; from += kAtOnce) {
    for (uint8_t& slice : slices) slice = static_cast<uint8_t>(random());
    std::vector<Row> rows;
    for (int i = 0; i < kAtOnce; ++i) {
      index.band_keys(&slices[i * 128], &keys[i * 18]);
      rows.push_back({.slices = &slices[i * 128], .digest = {random(), random()}, .mask = &mask});
    }
    index.insert(rows, keys.data());
  }
  const IndexStats stats = index.stats();
  const IndexCost cost = index_cost({.num_perm = 128, .banding = {18, 6}});
  EXPECT_EQ(cost.row, 160);
  EXPECT_EQ(cost.hot, 172);
  EXPECT_NEAR(static_cast<double>(stats.row_bytes) / kRows, cost.row, 0.2 * cost.row);
  // Small tables are rounded up to huge pages, so this checks the share of used slots instead.
  EXPECT_EQ(stats.entries, 19u * kRows);
  const double entry = cost.tables / 19;
  EXPECT_NEAR(512.0 / 87 / stats.load, entry, 0.15 * entry);
}

TEST(Sizing, SetsTakeElevenBitsOrSoForAShingle) {
  EXPECT_NEAR(coded_set_bytes(579) * 8 / 579, 11.3, 0.6);
  EXPECT_LT(coded_set_bytes(0), 32);
}

TEST(Sizing, PassagesAreFoundAsOftenAsItIsSaid) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  constexpr uint32_t kPassage = 150;
  std::vector<uint64_t> shingles(400'000);
  std::vector<uint32_t> tops;
  for (uint64_t& shingle : shingles) {
    shingle = random();
    tops.push_back(static_cast<uint32_t>(shingle >> 32));
  }
  PodVector<Print> prints;
  find_prints(shingles, tops, kPassage, 1, prints);
  EXPECT_NEAR(static_cast<double>(prints.size()), prints_asked(kPassage, 400'000), 1'000);
  for (const uint32_t shared : {15u, 37u, 75u, 149u, 150u}) {
    // Counts the places from which this many shingles contain no stored print.
    uint64_t none = 0, from = 0;
    for (const Print& print : prints) {
      if (!print.stored) continue;
      none += print.position - from >= shared ? print.position - from - shared + 1 : 0;
      from = print.position + 1;
    }
    EXPECT_NEAR(1 - static_cast<double>(none) / 400'000, passage_found(kPassage, shared), 0.02) << shared;
  }
  EXPECT_EQ(passage_found(kPassage, kPassage), 1);
}

TEST(Sizing, PrintsTakeMemoryAndDisk) {
  const IndexCost without = index_cost({.banding = {18, 6}, .shingles_per_document = 500});
  const IndexCost with = index_cost({.banding = {18, 6}, .shingles_per_document = 500, .passage = 150});
  EXPECT_GT(with.prints, 120);
  EXPECT_DOUBLE_EQ(with.memory(), without.memory() + with.prints);
  EXPECT_NEAR(with.disk() - without.disk(), 6 * 13.8 + 4, 1e-6);
}

TEST(Plot, SteepestPointIsWhereTheCurveRisesMost) {
  for (Banding banding : {Banding{18, 6}, Banding{5, 3}, Banding{1, 4}, Banding{30, 1}}) {
    double best = 0;
    double most = -1;
    for (double s = 0; s < 1; s += 0.0005) {
      const double rise = meeting_probability(s + 0.0005, banding) - meeting_probability(s, banding);
      if (rise > most) {
        most = rise;
        best = s;
      }
    }
    EXPECT_NEAR(steepest_similarity(banding), best, 0.003) << banding.bands << " x " << banding.rows;
  }
}

TEST(Plot, AsciiCurve) {
  EXPECT_EQ(draw_curve({.curve = [](double s) { return s < 0.5 ? 0.0 : 1.0; },
                        .mark = 0.8,
                        .mark_label = "t",
                        .width = 20,
                        .height = 4},
                       false),
            " 100 % |          **********\n"
            "       |          *     :\n"
            "  50 % |          *     :\n"
            "   0 % |**********      :\n"
            "       +--------------------\n"
            "       0.0 0.2 0.4 0.6 0.8 1.0\n"
            "                        ^ t\n");
  EXPECT_EQ(draw_bar(0.5, 4, false), "##");
  EXPECT_EQ(draw_bar(0.0001, 4, false), "#");
  EXPECT_EQ(draw_bar(0, 4, false), "");
  EXPECT_EQ(draw_bar(0.5, 1, true), "▌");
  EXPECT_EQ(draw_bar(2, 2, true), "██");
}

TEST(Plot, SvgIsOneFileAndNamesWhatItShows) {
  const std::string svg = draw_rule({.banding = {18, 6},
                                     .threshold = 0.8,
                                     .pairs = std::vector<uint64_t>(100, 3),
                                     .sample = "<x> & \"y\""});
  EXPECT_EQ(svg.find("<x>"), std::string::npos);
  EXPECT_NE(svg.find("&lt;x&gt; &amp; &quot;y&quot;"), std::string::npos);
  EXPECT_NE(svg.find("threshold 0.80: 99.58 % meet"), std::string::npos);
  EXPECT_NE(svg.find("steepest at 0.60"), std::string::npos);
  EXPECT_NE(svg.find("prefers-color-scheme: dark"), std::string::npos);
}

TEST(Plot, LabelsNeverOverprint) {
  for (const Banding banding :
       {Banding{18, 6}, Banding{10, 4}, Banding{60, 2}, Banding{4, 32}, Banding{1, 1}}) {
    for (const double threshold : {.1, .3, .5, .8, .95, 1.}) {
      for (const double suggested : {0., .05, .3, .45, .8, 1.}) {
        const std::string svg = draw_rule({.banding = banding,
                                           .threshold = threshold,
                                           .pairs = std::vector<uint64_t>(100, 30'000'000'000),
                                           .sample = "20,000 documents of crawl-of-the-year-2026.jsonl.gz",
                                           .suggested = suggested});
        EXPECT_EQ(label_faults(svg), "") << banding.bands << " bands of " << banding.rows << ", threshold "
                                         << threshold << ", suggested " << suggested;
      }
    }
  }
  EXPECT_EQ(label_faults(draw_rule({.banding = {18, 6}})), "");
}

}  // namespace
}  // namespace doppel
