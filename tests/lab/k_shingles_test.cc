#include "lab/k_shingles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "lab/theory.h"

namespace doppel::lab {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

TEST(KShingles, OfText) {
  EXPECT_THAT(k_shingles("abcdabd", {.k = 2}), UnorderedElementsAre("ab", "bc", "cd", "da", "bd"));
  EXPECT_THAT(k_shingles("Ab  c\n", {.k = 3}), UnorderedElementsAre("Ab ", "b c", " c "));
  EXPECT_THAT(k_shingles("Ab  c", {.k = 3, .spaces = false, .lower_case = true}),
              UnorderedElementsAre("abc"));
  EXPECT_THAT(k_shingles("ñandú", {.k = 4}), UnorderedElementsAre("ñand", "andú"));
  EXPECT_TRUE(k_shingles("ab", {.k = 3}).empty());
  EXPECT_THAT(k_shingles("ab", {.k = 2}), UnorderedElementsAre("ab"));
  EXPECT_THAT(word_shingles("it is trivial to show", 3),
              ElementsAre("is trivial to", "it is trivial", "trivial to show"));
}

TEST(KShingles, ExactSimilarity) {
  EXPECT_DOUBLE_EQ(jaccard(ShingleStrings{"a", "b", "c", "d"}, ShingleStrings{"b", "c", "d", "e", "f"}),
                   3.0 / 6);
  EXPECT_DOUBLE_EQ(jaccard(ShingleStrings{}, ShingleStrings{}), 0);
  EXPECT_DOUBLE_EQ(jaccard(k_shingles("Nadal", {.k = 2}), k_shingles("Nadia", {.k = 2})), 2.0 / 6);
}

TEST(KShingles, MatrixOfNadalAndNadia) {
  const CharacteristicMatrix matrix = characteristic_matrix(
      {k_shingles("Nadal", {.k = 2, .lower_case = true}), k_shingles("Nadia", {.k = 2, .lower_case = true})});
  EXPECT_THAT(matrix.rows, UnorderedElementsAre("na", "ad", "da", "al", "di", "ia"));
  auto row = [&](const std::string& shingle) {
    return static_cast<uint32_t>(std::find(matrix.rows.begin(), matrix.rows.end(), shingle) -
                                 matrix.rows.begin());
  };
  EXPECT_THAT(matrix.documents[row("na")], ElementsAre(0, 1));
  EXPECT_THAT(matrix.documents[row("ad")], ElementsAre(0, 1));
  EXPECT_THAT(matrix.documents[row("da")], ElementsAre(0));
  EXPECT_THAT(matrix.documents[row("al")], ElementsAre(0));
  EXPECT_THAT(matrix.documents[row("di")], ElementsAre(1));
  EXPECT_THAT(matrix.documents[row("ia")], ElementsAre(1));
  const std::vector<uint32_t> order{row("da"), row("di"), row("na"), row("al"), row("ia"), row("ad")};
  EXPECT_EQ(matrix.rows[first_row(matrix, order, 0)], "da");
  EXPECT_EQ(matrix.rows[first_row(matrix, order, 1)], "di");
}

TEST(KShingles, JenkinsMix) {
  // As in its author's article: nine steps, shifts 13 8 13 12 16 5 3 10 15.
  auto slowly = [](uint32_t a, uint32_t b, uint32_t c) {
    a -= b, a -= c, a ^= c >> 13;
    b -= c, b -= a, b ^= a << 8;
    c -= a, c -= b, c ^= b >> 13;
    a -= b, a -= c, a ^= c >> 12;
    b -= c, b -= a, b ^= a << 16;
    c -= a, c -= b, c ^= b >> 5;
    a -= b, a -= c, a ^= c >> 3;
    b -= c, b -= a, b ^= a << 10;
    c -= a, c -= b, c ^= b >> 15;
    return c;
  };
  Random random(1);
  for (int i = 0; i < 1000; ++i) {
    const auto a = static_cast<uint32_t>(random.next());
    const auto b = static_cast<uint32_t>(random.next());
    const auto c = static_cast<uint32_t>(random.next());
    ASSERT_EQ(mix(a, b, c), slowly(a, b, c));
  }
}

TEST(KShingles, ModularHashingPermutesTheRows) {
  Random random(3);
  for (size_t rows : {1, 2, 7, 64, 1000, 30030}) {
    const RowFunctions functions = draw_functions(HashFamily::modular, 20, rows, random);
    for (size_t i = 0; i < 20; ++i) {
      std::vector<char> taken(rows);
      for (uint32_t row = 0; row < rows; ++row) taken[functions(i, row)] = 1;
      EXPECT_EQ(std::count(taken.begin(), taken.end(), 1), static_cast<ptrdiff_t>(rows));
    }
  }
}

TEST(KShingles, SignaturesRowByRowAreMinima) {
  Random random(4);
  const Prose prose(4);
  std::vector<ShingleStrings> sets;
  for (int d = 0; d < 5; ++d) sets.push_back(k_shingles(joined(prose.words(30, random)), {.k = 3}));
  const CharacteristicMatrix matrix = characteristic_matrix(sets);
  for (HashFamily family : {HashFamily::modular, HashFamily::jenkins}) {
    const RowFunctions functions = draw_functions(family, 40, matrix.rows.size(), random);
    const auto made = signatures(matrix, functions);
    for (size_t d = 0; d < sets.size(); ++d) {
      for (size_t i = 0; i < 40; ++i) {
        uint32_t least = UINT32_MAX;
        for (uint32_t row = 0; row < matrix.rows.size(); ++row) {
          if (sets[d].contains(matrix.rows[row])) least = std::min(least, functions(i, row));
        }
        ASSERT_EQ(made[d][i], least);
      }
    }
  }
}

TEST(KShingles, EstimatesAreNear) {
  Random random(5);
  const Prose prose(5);
  for (HashFamily family : {HashFamily::modular, HashFamily::jenkins}) {
    double squares = 0;
    for (int pair = 0; pair < 30; ++pair) {
      std::vector<std::string> words = prose.words(60, random);
      const ShingleStrings a = k_shingles(joined(words), {.k = 4});
      for (int i = 0; i < 10; ++i) words[random.below(60)] = prose.word(random);
      const ShingleStrings b = k_shingles(joined(words), {.k = 4});
      const CharacteristicMatrix matrix = characteristic_matrix({a, b});
      const auto made = signatures(matrix, draw_functions(family, 400, matrix.rows.size(), random));
      squares += std::pow(estimate(made[0], made[1], 400) - jaccard(a, b), 2) / 30;
    }
    EXPECT_LT(std::sqrt(squares), .045);  // sqrt(.25 / 400) = .025
  }
}

TEST(KShingles, BandsForAThreshold) {
  const std::vector<std::pair<double, int>> wanted{{0, 500},  {.2, 125}, {.42, 100},
                                                   {.64, 50}, {.8, 25},  {1, 1}};
  for (auto [threshold, bands] : wanted) EXPECT_EQ(bands_for(500, threshold), bands) << threshold;
  EXPECT_EQ(bands_for(1, .5), 1);
  EXPECT_EQ(bands_for(2, .75), 1);  // 1 and .5 are equally far: the smaller b
  EXPECT_EQ(bands_for(7, 0), 7);    // of a prime there are two divisors
  EXPECT_NEAR(reached_threshold(500, 50), .6762, .0001);
}

TEST(KShingles, CandidatesAgreeInABand) {
  Random random(6);
  std::vector<std::vector<uint32_t>> made(40, std::vector<uint32_t>(12));
  for (auto& signature : made) {
    for (uint32_t& value : signature) value = static_cast<uint32_t>(random.below(3));
  }
  for (int bands : {1, 2, 3, 4, 6, 12}) {
    std::vector<std::pair<uint32_t, uint32_t>> slow;
    const size_t rows = 12 / static_cast<size_t>(bands);
    for (uint32_t i = 0; i < 40; ++i) {
      for (uint32_t j = i + 1; j < 40; ++j) {
        bool meets = false;
        for (size_t first = 0; first < 12; first += rows) {
          bool all = true;
          for (size_t r = first; r < first + rows; ++r) all = all && made[i][r] == made[j][r];
          meets = meets || all;
        }
        if (meets) slow.emplace_back(i, j);
      }
    }
    EXPECT_EQ(band_candidates(made, bands), slow) << bands;
  }
}

TEST(Theory, SteepestPointIsTheLargestSlope) {
  EXPECT_EQ(steepest_point(1, 20), 0);
  EXPECT_EQ(steepest_point(1, 1), 0);
  for (auto [r, b] : {std::pair{2, 3}, {5, 20}, {6, 18}, {25, 39}, {4, 1}}) {
    auto slope = [rows = r, bands = b](double s) {
      return bands * rows * std::pow(s, rows - 1) * std::pow(1 - std::pow(s, rows), bands - 1);
    };
    const double at = steepest_point(r, b);
    double best = 0;
    for (int i = 1; i <= 10'000; ++i) best = std::max(best, slope(i / 10'000.0));
    EXPECT_NEAR(slope(at), best, best * 1e-4) << r << " " << b;
  }
}

}  // namespace
}  // namespace doppel::lab
