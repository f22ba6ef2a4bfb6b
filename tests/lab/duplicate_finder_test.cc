#include "lab/duplicate_finder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "commands/run_doppel.h"
#include "lab/primes.h"

namespace doppel::lab {
namespace {

using doppel::testing::TempDir;
using doppel::testing::write_file;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kArticles = DOPPEL_SOURCE_DIR "/tests/data/articles/articles_";

// Slow and simple.
std::vector<Pair> by_sets(const Articles& articles, double threshold) {
  std::vector<Pair> out;
  std::vector<std::set<std::string>> sets;
  for (const auto& words : articles.words) sets.emplace_back(words.begin(), words.end());
  for (uint32_t i = 0; i < sets.size(); ++i) {
    for (uint32_t j = i + 1; j < sets.size(); ++j) {
      size_t both = 0;
      for (const std::string& word : sets[i]) both += sets[j].count(word);
      if (static_cast<double>(both) / static_cast<double>(sets[i].size() + sets[j].size() - both) >
          threshold) {
        out.emplace_back(i, j);
      }
    }
  }
  return out;
}

std::string message(const absl::Status& status) { return std::string(status.message()); }

TEST(DuplicateFinder, TwoHashExample) {
  // Elements a to f are 1 to 6. The first function sorts c f b e a d, the second a b c d e f.
  const std::vector<LinearHash> hashes{{.a = 5, .b = 6, .c = 7}, {.a = 1, .b = 0, .c = 7}};
  constexpr uint32_t a = 1, b = 2, c = 3, d = 4, f = 6;
  EXPECT_EQ(hashes[0](c), 0u);
  EXPECT_THAT(lowest_elements({a, b, c, d}, hashes), ElementsAre(c, a));
  EXPECT_THAT(lowest_elements({a, b, d, f}, hashes), ElementsAre(f, a));
  EXPECT_DOUBLE_EQ(estimated(lowest_elements({a, b, c, d}, hashes), lowest_elements({a, b, d, f}, hashes)),
                   .5);
}

TEST(DuplicateFinder, JavaHashCode) {
  EXPECT_EQ(java_hash_code(""), 0u);
  EXPECT_EQ(java_hash_code("hello"), 99162322u);
  EXPECT_EQ(java_hash_code("polygenelubricants"), 0x80000000u);
  EXPECT_EQ(java_hash_code("Aa"), java_hash_code("BB"));
  EXPECT_TRUE(is_prime(4'294'967'311));
  EXPECT_EQ(prime_from(uint64_t{1} << 32), 4'294'967'311u);
}

TEST(DuplicateFinder, HashesOfCodesAreExactIn64Bits) {
  const LinearHash hash{.a = 4'294'967'294, .b = 4'294'967'294, .c = 4'294'967'311};
  __extension__ using uint128 = unsigned __int128;
  for (uint32_t x : {0u, 1u, 0x80000000u, 0xffffffffu}) {
    EXPECT_EQ(hash(x), static_cast<uint64_t>((uint128{hash.a} * x + hash.b) % hash.c));
  }
}

TEST(DuplicateFinder, ReadsAndNamesWhatIsWrong) {
  TempDir dir;
  write_file(dir / "good.train", "t1 a b c\nt2 b c\nt10 d\n");
  const Articles articles = readData(dir / "good.train").value();
  EXPECT_THAT(articles.ids, ElementsAre("t1", "t2", "t10"));
  EXPECT_THAT(articles.words[1], ElementsAre("b", "c"));
  write_file(dir / "good.truth", "t10 t1\nt1 t2\n");
  EXPECT_THAT(readGroundTruth(dir / "good.truth", articles).value(), ElementsAre(Pair(0, 1), Pair(0, 2)));

  write_file(dir / "unknown.truth", "t1 t2\nt1 t3\n");
  EXPECT_THAT(message(readGroundTruth(dir / "unknown.truth", articles).status()),
              HasSubstr("unknown.truth:2: no article has the id t3"));
  write_file(dir / "three.truth", "t1 t2 t10\n");
  EXPECT_THAT(message(readGroundTruth(dir / "three.truth", articles).status()),
              HasSubstr("three.truth:1: expected two ids"));
  write_file(dir / "short.train", "t1 a\nt2\n");
  EXPECT_THAT(message(readData(dir / "short.train").status()),
              HasSubstr("short.train:2: expected an id and words"));
  write_file(dir / "twice.train", "t1 a\nt1 b\n");
  EXPECT_THAT(message(readData(dir / "twice.train").status()),
              HasSubstr("twice.train:2: the id t1 was there before"));
  write_file(dir / "empty.train", "");
  EXPECT_THAT(message(readData(dir / "empty.train").status()), HasSubstr("no articles"));
  EXPECT_FALSE(readData(dir / "none.train").ok());
}

void expect_exactly_the_truth(const std::string& size, bool words_too) {
  const Articles articles = readData(kArticles + size + ".train").value();
  const std::vector<Pair> truth = readGroundTruth(kArticles + size + ".truth", articles).value();
  const IntegerSets ids = integer_sets(articles, Encoding::own_ids);
  const IntegerSets codes = integer_sets(articles, Encoding::hash_codes);
  Random random(1);
  const MinHashFinder minhash(ids, draw_hashes(100, ids, Encoding::own_ids, random));
  const LshFinder lsh(minhash.signatures(), {.verify = &ids});
  for (double threshold : {.3, .5, .9}) {
    EXPECT_EQ(IntegerFinder(ids).findDuplicates(threshold), truth) << threshold;
    EXPECT_EQ(IntegerFinder(codes).findDuplicates(threshold), truth) << threshold;
    EXPECT_EQ(lsh.findDuplicates(threshold), truth) << threshold;
    if (words_too) {
      EXPECT_EQ(WordSetFinder(articles).findDuplicates(threshold), truth) << threshold;
    }
  }
  EXPECT_EQ(minhash.findDuplicates(.5), truth);
}
TEST(DuplicateFinder, ExactlyTheTruthOfHundred) { expect_exactly_the_truth("100", true); }
TEST(DuplicateFinder, ExactlyTheTruthOfThousand) { expect_exactly_the_truth("1000", false); }
TEST(DuplicateFinderLong, ExactlyTheTruthOfThousandBySetsOfWords) { expect_exactly_the_truth("1000", true); }

TEST(DuplicateFinder, ExactStepsEqualBruteForce) {
  for (uint64_t seed : {1, 2, 3}) {
    const MadeArticles made = make_articles(120, 30, .5, 1, seed);
    const IntegerSets ids = integer_sets(made.articles, Encoding::own_ids);
    const IntegerSets codes = integer_sets(made.articles, Encoding::hash_codes);
    for (double threshold : {.1, .3, .5, .9}) {
      const std::vector<Pair> truth = by_sets(made.articles, threshold);
      EXPECT_EQ(WordSetFinder(made.articles).findDuplicates(threshold), truth);
      EXPECT_EQ(IntegerFinder(ids).findDuplicates(threshold), truth);
      EXPECT_EQ(IntegerFinder(codes).findDuplicates(threshold), truth);
    }
    EXPECT_EQ(made.planted.size(), 30u);
    for (auto [i, j] : made.planted) EXPECT_GT(jaccard(ids.sets[i], ids.sets[j]), .49);
  }
}

TEST(DuplicateFinder, StrictlyHigher) {
  Articles articles{.ids = {"x", "y"}, .words = {{"a", "b"}, {"a", "b", "c", "d"}}};
  const IntegerSets ids = integer_sets(articles, Encoding::own_ids);
  EXPECT_TRUE(IntegerFinder(ids).findDuplicates(.5).empty());
  EXPECT_EQ(IntegerFinder(ids).findDuplicates(.4999).size(), 1u);
  EXPECT_TRUE(WordSetFinder(articles).findDuplicates(.5).empty());
}

TEST(DuplicateFinder, ChancesAreWhatTrialsShow) {
  Random random(7);
  constexpr int kTrials = 20000;
  for (double j : {.4, .6, .8}) {
    int above = 0;
    int met = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      int equal = 0;
      bool full = false;
      for (int band = 0; band < 10; ++band) {
        int rows = 0;
        for (int r = 0; r < 5; ++r) rows += random.unit() < j;
        equal += rows;
        full = full || rows == 5 || random.below(50) == 0;
      }
      above += equal / 50.0 > .5;
      met += full && equal / 50.0 > .5;
    }
    EXPECT_NEAR(chance_minhash(j, 50, .5), static_cast<double>(above) / kTrials, .012) << j;
    EXPECT_NEAR(chance_lsh(j, 50, 10, 50, .5), static_cast<double>(met) / kTrials, .012) << j;
  }
}

TEST(DuplicateFinder, RecallIsWithinThreeErrorsOfTheory) {
  const MadeArticles made = make_articles(240, 120, .5, 1, 11);
  const IntegerSets ids = integer_sets(made.articles, Encoding::own_ids);
  Random random(12);
  const MinHashFinder minhash(ids, draw_hashes(100, ids, Encoding::own_ids, random));
  const LshFinder lsh(minhash.signatures(), {.bands = 20, .buckets = 100'003});
  for (double threshold : {.5, .9}) {
    const std::vector<Pair> truth = by_sets(made.articles, threshold);
    auto check = [&](const std::vector<Pair>& found, auto chance) {
      double expected = 0;
      double variance = 0;
      double right = 0;
      for (const Pair& pair : truth) {
        const double p = chance(jaccard(ids.sets[pair.first], ids.sets[pair.second]));
        expected += p;
        variance += p * (1 - p);
        right += std::binary_search(found.begin(), found.end(), pair) ? 1 : 0;
      }
      EXPECT_NEAR(right, expected, 3 * std::sqrt(variance)) << threshold;
    };
    check(minhash.findDuplicates(threshold), [&](double j) { return chance_minhash(j, 100, threshold); });
    check(lsh.findDuplicates(threshold),
          [&](double j) { return chance_lsh(j, 100, 20, 100'003, threshold); });
  }
}

}  // namespace
}  // namespace doppel::lab
