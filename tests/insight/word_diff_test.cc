#include "insight/text_diff.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace doppel {
namespace {

using Words = std::vector<uint32_t>;

// The oracle: length of the longest common subsequence, by the textbook's table.
size_t common_words(const Words& a, const Words& b) {
  std::vector<std::vector<size_t>> table(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      table[i][j] =
          a[i - 1] == b[j - 1] ? table[i - 1][j - 1] + 1 : std::max(table[i - 1][j], table[i][j - 1]);
    }
  }
  return table[a.size()][b.size()];
}

// Applies the difference to a; checks that hunks cover both sides in order and that equal ones are equal.
Words apply(const std::vector<DiffHunk>& hunks, const Words& a, const Words& b) {
  Words out;
  size_t at_a = 0;
  size_t at_b = 0;
  bool last_equal = false;
  for (size_t i = 0; i < hunks.size(); ++i) {
    const DiffHunk& h = hunks[i];
    EXPECT_EQ(h.a_begin, at_a);
    EXPECT_EQ(h.b_begin, at_b);
    EXPECT_LE(h.a_begin, h.a_end);
    EXPECT_LE(h.b_begin, h.b_end);
    EXPECT_LT(h.a_begin + h.b_begin, h.a_end + h.b_end) << "an empty hunk";
    EXPECT_TRUE(i == 0 || h.equal != last_equal) << "two hunks of one sort in a row";
    last_equal = h.equal;
    if (h.equal) {
      EXPECT_EQ(h.a_end - h.a_begin, h.b_end - h.b_begin);
      out.insert(out.end(), a.begin() + h.a_begin, a.begin() + h.a_end);
    } else {
      out.insert(out.end(), b.begin() + h.b_begin, b.begin() + h.b_end);
    }
    at_a = h.a_end;
    at_b = h.b_end;
  }
  EXPECT_EQ(at_a, a.size());
  EXPECT_EQ(at_b, b.size());
  return out;
}

size_t equal_words(const std::vector<DiffHunk>& hunks) {
  size_t sum = 0;
  for (const DiffHunk& h : hunks) sum += h.equal ? h.a_end - h.a_begin : 0;
  return sum;
}

Words random_words(std::mt19937_64& random, size_t n, uint32_t vocabulary) {
  Words words(n);
  for (uint32_t& w : words) w = random() % vocabulary;
  return words;
}

// Inserts, deletes and replaces short runs.
Words edited(std::mt19937_64& random, Words words, int edits, uint32_t vocabulary) {
  for (int e = 0; e < edits; ++e) {
    size_t at = words.empty() ? 0 : random() % words.size();
    size_t run = std::min<size_t>(random() % 4, words.size() - at);
    if (random() % 3 != 0) words.erase(words.begin() + at, words.begin() + at + run);
    if (random() % 3 != 0) {
      Words more = random_words(random, 1 + random() % 4, vocabulary);
      words.insert(words.begin() + at, more.begin(), more.end());
    }
  }
  return words;
}

TEST(WordDiff, Examples) {
  EXPECT_TRUE(diff_words({}, {}).hunks.empty());
  const Words a{1, 2, 3, 4};
  EXPECT_EQ(diff_words(a, a).hunks, (std::vector<DiffHunk>{{true, 0, 4, 0, 4}}));
  EXPECT_EQ(diff_words(a, {}).hunks, (std::vector<DiffHunk>{{false, 0, 4, 0, 0}}));
  EXPECT_EQ(diff_words({}, a).hunks, (std::vector<DiffHunk>{{false, 0, 0, 0, 4}}));
  EXPECT_EQ(diff_words(a, Words{1, 9, 3, 4}).hunks,
            (std::vector<DiffHunk>{{true, 0, 1, 0, 1}, {false, 1, 2, 1, 2}, {true, 2, 4, 2, 4}}));
  EXPECT_EQ(diff_words(a, Words{1, 2, 7, 7, 3, 4}).hunks,
            (std::vector<DiffHunk>{{true, 0, 2, 0, 2}, {false, 2, 2, 2, 4}, {true, 2, 4, 4, 6}}));
}

TEST(WordDiff, IsShortestAndTurnsOneSideIntoTheOther) {
  const uint64_t seed = 20240917;
  for (uint64_t round = 0; round < 3000; ++round) {
    std::mt19937_64 random(seed + round);
    SCOPED_TRACE(seed + round);
    const uint32_t vocabulary = 2 + random() % 30;
    Words a = random_words(random, random() % 40, vocabulary);
    Words b = round % 2 == 0 ? random_words(random, random() % 40, vocabulary)
                             : edited(random, a, static_cast<int>(random() % 6), vocabulary);
    WordDiff diff = diff_words(a, b);
    ASSERT_EQ(apply(diff.hunks, a, b), b);
    ASSERT_TRUE(diff.shortest);
    ASSERT_EQ(equal_words(diff.hunks), common_words(a, b));
    std::vector<DiffHunk> readable = diff.hunks;
    absorb_short_runs(readable);
    ASSERT_EQ(apply(readable, a, b), b);
    ASSERT_LE(equal_words(readable), equal_words(diff.hunks));
  }
}

TEST(WordDiff, StaysCorrectWhenStepsRunOut) {
  const uint64_t seed = 77;
  for (uint64_t round = 0; round < 1000; ++round) {
    std::mt19937_64 random(seed + round);
    SCOPED_TRACE(seed + round);
    const uint32_t vocabulary = 2 + random() % 200;
    Words a = random_words(random, random() % 200, vocabulary);
    Words b = edited(random, a, static_cast<int>(random() % 60), vocabulary);
    WordDiff diff = diff_words(a, b, {.steps_per_range = random() % 50, .steps_in_all = random() % 1000});
    ASSERT_EQ(apply(diff.hunks, a, b), b);
    ASSERT_LE(equal_words(diff.hunks), common_words(a, b));
  }
}

TEST(WordDiff, AnchorsFindMovedAndUnrelatedPassagesInLongTexts) {
  std::mt19937_64 random(5);
  Words a = random_words(random, 60'000, 5'000);
  Words b = random_words(random, 60'000, 5'000);
  std::copy(a.begin() + 20'000, a.begin() + 30'000, b.begin() + 35'000);
  WordDiff diff = diff_words(a, b);
  EXPECT_FALSE(diff.shortest);
  EXPECT_EQ(apply(diff.hunks, a, b), b);
  EXPECT_GE(equal_words(diff.hunks), 10'000u);
}

TEST(WordDiff, ShortRunsBetweenChangesGo) {
  // x x x x THE y y y y: the equal word in the middle does not justify a break; between single words it does.
  std::vector<DiffHunk> hunks{
      {false, 0, 4, 0, 4}, {true, 4, 5, 4, 5}, {false, 5, 9, 5, 9}, {true, 9, 20, 9, 20}};
  absorb_short_runs(hunks);
  EXPECT_EQ(hunks, (std::vector<DiffHunk>{{false, 0, 9, 0, 9}, {true, 9, 20, 9, 20}}));
  std::vector<DiffHunk> few{{false, 0, 1, 0, 1}, {true, 1, 2, 1, 2}, {false, 2, 3, 2, 3}};
  std::vector<DiffHunk> same = few;
  absorb_short_runs(few);
  EXPECT_EQ(few, same);
}

}  // namespace
}  // namespace doppel
