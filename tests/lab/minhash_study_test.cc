// The MinHash study's functions on a folder of four files that can be computed by hand.
#include "lab/minhash_study.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "commands/run_doppel.h"

namespace doppel::lab {
namespace {

using doppel::testing::TempDir;
using doppel::testing::write_file;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class MinHashStudy : public ::testing::Test {
 protected:
  void SetUp() override {
    write_file(folder_ / "a.txt", "The cat, sat; on: the mat's ROOF.\n");  // cat sat mats roof
    write_file(folder_ / "b.txt", "Cat sat roof dog, cat");                // cat sat roof dog
    write_file(folder_ / "c.txt", "dog ran far away. of it");              // dog ran far away
    write_file(folder_ / "d.txt", "roof mats.\nsat: cat");                 // as a
  }
  MinHash study(int permutations, uint64_t seed = 1) {
    return MinHash::create(folder_.path().string(), permutations, {.seed = seed}).value();
  }
  TempDir folder_;
};

TEST_F(MinHashStudy, WordsProcessor) {
  EXPECT_THAT(MinHash::wordsProcessor("The cat, sat; on: the mat's ROOF. The: it's a,b,c THE"),
              ElementsAre("cat", "sat", "mats", "roof", "its", "abc"));
  EXPECT_THAT(MinHash::wordsProcessor(" \n"), IsEmpty());
}

TEST_F(MinHashStudy, DocumentsAndTerms) {
  const MinHash s = study(5);
  EXPECT_THAT(s.allDocs(), ElementsAre("a.txt", "b.txt", "c.txt", "d.txt"));
  EXPECT_EQ(s.numTerms(), 8u);  // cat sat mats roof dog ran far away
  EXPECT_EQ(s.numPermutations(), 5);
  EXPECT_THAT(s.buildBinaryTermFrequencyAllDocs(),
              ElementsAre(ElementsAre(1, 1, 1, 1, 0, 0, 0, 0), ElementsAre(1, 1, 0, 1, 1, 0, 0, 0),
                          ElementsAre(0, 0, 0, 0, 1, 1, 1, 1), ElementsAre(1, 1, 1, 1, 0, 0, 0, 0)));
}

TEST_F(MinHashStudy, ExactJaccard) {
  const MinHash s = study(5);
  EXPECT_DOUBLE_EQ(s.exactJaccard("a.txt", "b.txt").value(), 3.0 / 5);
  EXPECT_DOUBLE_EQ(s.exactJaccard("c.txt", "b.txt").value(), 1.0 / 7);
  EXPECT_DOUBLE_EQ(s.exactJaccard("a.txt", "c.txt").value(), 0);
  EXPECT_DOUBLE_EQ(s.exactJaccard("a.txt", "d.txt").value(), 1);
  EXPECT_FALSE(s.exactJaccard("a.txt", "e.txt").ok());
}

TEST_F(MinHashStudy, SignaturesAreLeastPermutedTerms) {
  const MinHash s = study(10);  // p = 11: as many as there are
  const PermutationsFunctions& f = s.permutations();
  EXPECT_EQ(f.p(), 11u);
  const MinHashMatrix matrix = s.minHashMatrix();
  ASSERT_EQ(matrix.documents, 4u);
  for (int i = 0; i < 10; ++i) {
    auto image = [&](uint64_t x) { return (f.a(i) * x + f.b(i)) % 11; };
    for (uint32_t x = 0; x < 8; ++x) EXPECT_EQ(s.minHashTerm(x, i), image(x));
    const auto slot = static_cast<size_t>(i);
    EXPECT_EQ(matrix.row(0)[slot], std::min({image(0), image(1), image(2), image(3)}));
    EXPECT_EQ(matrix.row(2)[slot], std::min({image(4), image(5), image(6), image(7)}));
    EXPECT_EQ(s.minHashSig("c.txt").value()[slot], matrix.row(2)[slot]);
  }
  EXPECT_DOUBLE_EQ(s.approximateJaccard("a.txt", "d.txt").value(), 1);
  int equal = 0;
  for (size_t i = 0; i < 10; ++i) equal += matrix.row(0)[i] == matrix.row(1)[i];
  EXPECT_DOUBLE_EQ(s.approximateJaccard("a.txt", "b.txt").value(), equal / 10.0);
}

TEST_F(MinHashStudy, PermutationsAreDifferentAndNotEndless) {
  for (int n : {1, 5, 9, 10}) {
    const PermutationsFunctions f = PermutationsFunctions::create(n, 9, 7).value();
    std::set<uint32_t> a;
    std::set<uint32_t> b;
    for (int i = 0; i < n; ++i) {
      a.insert(f.a(i));
      b.insert(f.b(i));
      EXPECT_GE(f.a(i), 1u);
      EXPECT_LT(f.a(i), 11u);
      EXPECT_LT(f.b(i), 11u);
    }
    EXPECT_EQ(a.size(), static_cast<size_t>(n));
    EXPECT_EQ(b.size(), static_cast<size_t>(n));
  }
  const auto too_many = PermutationsFunctions::create(11, 9, 7);
  ASSERT_FALSE(too_many.ok());
  EXPECT_THAT(std::string(too_many.status().message()), HasSubstr("there are 1 to 10 different ones"));
}

TEST_F(MinHashStudy, WrappingIsJavasAndCostsImagesAbove46340) {
  // The largest p whose products stay below 2^31 gives a permutation; the next one does not, and 64 bits
  // always do.
  for (auto [terms, arithmetic, permutes] : {std::tuple{46337, Arithmetic::wrapping, true},
                                             {200003, Arithmetic::wrapping, false},
                                             {200003, Arithmetic::wide, true}}) {
    const auto f = PermutationsFunctions::create(3, static_cast<uint64_t>(terms), 5, arithmetic).value();
    std::vector<char> taken(f.p());
    for (uint32_t x = 0; x < f.p(); ++x) taken[f.apply(1, x)] = 1;
    EXPECT_EQ(std::count(taken.begin(), taken.end(), 1) == f.p(), permutes) << terms;
  }
  const auto f = PermutationsFunctions::create(1, 200003, 5).value();
  for (uint32_t x : {0u, 99999u, 200002u}) {
    const auto product = static_cast<int32_t>(static_cast<int64_t>(f.a(0)) * x + f.b(0));  // Java's int
    EXPECT_EQ(f.apply(0, x), static_cast<uint32_t>(product & 0x7fffffff) % f.p());
  }
}

TEST_F(MinHashStudy, AccuracyCountsPairs) {
  const std::string folder = folder_.path().string();
  for (double error : {0.0, .05, .2}) {
    const MinHash s = study(7, 3);
    uint64_t off = 0;
    for (const std::string& x : s.allDocs()) {
      for (const std::string& y : s.allDocs()) {
        if (x < y) off += std::abs(*s.exactJaccard(x, y) - *s.approximateJaccard(x, y)) > error;
      }
    }
    EXPECT_EQ(MinHashAccuracy::accuracy(folder, 7, error, {.seed = 3}).value(), off);
  }
  EXPECT_EQ(MinHashAccuracy::accuracy(folder, 7, 1).value(), 0u);
}

TEST_F(MinHashStudy, TimerCounts) {
  const MinHashTime::Timing t = MinHashTime::timer(folder_.path().string(), 6).value();
  EXPECT_EQ(t.exact_comparisons, 4u * 6);  // every document has four terms
  EXPECT_EQ(t.estimated_comparisons, 6u * 6);
}

TEST_F(MinHashStudy, LshFindsEqualBands) {
  const MinHash s = study(8);
  const MinHashMatrix matrix = s.minHashMatrix();
  for (bool wide : {false, true}) {
    for (bool one_tuple : {false, true}) {
      const LSH lsh =
          LSH::create(matrix, s.allDocs(), 4, {.one_tuple = one_tuple, .wide_buckets = wide}).value();
      EXPECT_EQ(lsh.rows(), 2);
      EXPECT_EQ(lsh.buckets(), wide ? uint64_t{1} << 32 : 5u);
      EXPECT_THAT(lsh.nearDuplicatesOf("a.txt").value(), ::testing::Contains("d.txt"));
      EXPECT_THAT(lsh.nearDuplicatesOf("a.txt").value(), ::testing::Not(::testing::Contains("a.txt")));
      for (size_t x = 0; x < 4; ++x) {
        for (uint32_t y = 0; y < 4; ++y) {
          bool shares = false;
          for (size_t band = 0; band < 4; ++band) {
            shares = shares || (matrix.row(x)[2 * band] == matrix.row(y)[2 * band] &&
                                matrix.row(x)[2 * band + 1] == matrix.row(y)[2 * band + 1]);
          }
          const std::vector<uint32_t> found = lsh.near_duplicates_of(x);
          const bool candidate = std::find(found.begin(), found.end(), y) != found.end();
          if (shares && x != y) {
            EXPECT_TRUE(candidate);
          }
          if (wide && !shares) {
            EXPECT_FALSE(candidate);
          }
        }
      }
    }
  }
  const auto wrong = LSH::create(matrix, s.allDocs(), 3);
  ASSERT_FALSE(wrong.ok());
  EXPECT_THAT(std::string(wrong.status().message()),
              HasSubstr("the nearest numbers that divide them: 2 and 4"));
  EXPECT_FALSE(LSH::create(matrix, s.allDocs(), 0).ok());
  EXPECT_FALSE(LSH::create(matrix, s.allDocs(), 9).ok());
}

TEST_F(MinHashStudy, NearDuplicateDetector) {
  const auto found =
      NearDuplicates::nearDuplicateDetector(folder_.path().string(), 10, 5, .95, "a.txt").value();
  EXPECT_THAT(found.documents, ElementsAre("d.txt"));
  for (const std::string& removed : found.removed) EXPECT_TRUE(removed == "b.txt" || removed == "c.txt");
  EXPECT_FALSE(NearDuplicates::nearDuplicateDetector(folder_.path().string(), 10, 5, .95, "x").ok());

  const MinHash s = study(10);
  const MinHashMatrix matrix = s.minHashMatrix();
  EXPECT_THAT(NearDuplicates::getLessThanThresholdDocs(matrix, {1, 2, 3}, 0, .95), ElementsAre(1, 2));
}

TEST(Folders, WhatIsWrongWithThem) {
  TempDir folder;
  EXPECT_THAT(std::string(read_folder(folder.path().string()).status().message()),
              HasSubstr("a folder without files"));
  EXPECT_THAT(std::string(read_folder(folder / "none").status().message()), HasSubstr("none: not a folder"));
  write_file(folder / "x/good.txt", "good\n");
  write_file(folder / "x/bad.txt", std::string("one\ntwo\0three\n", 14));
  EXPECT_THAT(std::string(read_folder(folder.path().string()).status().message()),
              HasSubstr("x/bad.txt:2: not a text file (byte 0x00)"));
}

TEST(MadeCollections, AreWhatTheySay) {
  const Collection news = make_news({.documents = 150}, 5);
  const MinHash s = MinHash::create(news, 1).value();
  double terms = 0;
  double similarity = 0;
  for (size_t i = 0; i < 150; ++i) {
    terms += static_cast<double>(s.terms_of(i).size()) / 150;
    for (size_t j = 0; j < i; ++j) similarity += s.exact(i, j) / (150 * 149 / 2.0);
  }
  EXPECT_NEAR(terms, 187, 30);
  EXPECT_NEAR(similarity, .12, .02);

  const Collection copies = with_near_copies(make_news({.documents = 20}, 5), 7, {.a = .95, .b = .97}, 9);
  ASSERT_EQ(copies.size(), 160u);
  const MinHash c = MinHash::create(copies, 1).value();
  for (size_t d = 0; d < 160; ++d) {
    if (d % 8 == 0) continue;
    // Short documents have few possible values near the drawn one.
    EXPECT_NEAR(c.exact(d / 8 * 8, d), .96, .02) << copies.names[d];
  }
}

}  // namespace
}  // namespace doppel::lab
