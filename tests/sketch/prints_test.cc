// Prints against their definition: the smallest hash of every window.
#include "sketch/prints.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/simd.h"

namespace doppel {
namespace {

using Keys = std::set<uint64_t>;

// The highest 32 bits determine the others, so that no two shingles are equally small.
uint64_t random_shingle(std::mt19937_64& random) {
  const uint64_t top = random() >> 32;
  return top << 32 | (top * 0x9e3779b9 & 0xffffffff);
}

// Hashes from `kinds` different ones: with few, texts repeat themselves. 0: all differ.
std::vector<uint64_t> random_shingles(std::mt19937_64& random, size_t n, uint64_t kinds) {
  std::vector<uint64_t> values(kinds);
  for (uint64_t& value : values) value = random_shingle(random);
  std::vector<uint64_t> out(n);
  for (uint64_t& shingle : out) shingle = kinds == 0 ? random_shingle(random) : values[random() % kinds];
  return out;
}

Keys least_of_windows(const std::vector<uint64_t>& shingles, size_t window) {
  Keys out;
  window = std::min(window, shingles.size());
  for (size_t begin = 0; begin + window <= shingles.size() && window != 0; ++begin)
    out.insert(*std::min_element(&shingles[begin], &shingles[begin] + window));
  return out;
}

Keys least_of_beginnings(const std::vector<uint64_t>& shingles, size_t from, size_t to) {
  Keys out;
  for (size_t size = from; size <= std::min(to, shingles.size()) && size != 0; ++size)
    out.insert(*std::min_element(shingles.begin(), shingles.begin() + static_cast<ptrdiff_t>(size)));
  return out;
}

struct Found {
  Keys asked, stored;
  std::vector<Print> prints;
};

Found prints_of(const std::vector<uint64_t>& shingles, uint32_t passage, uint64_t salt = 7) {
  PodVector<Print> prints;
  std::vector<uint32_t> tops;
  for (const uint64_t shingle : shingles) tops.push_back(static_cast<uint32_t>(shingle >> 32));
  find_prints(shingles, tops, passage, salt, prints);
  Found out;
  out.prints.assign(prints.begin(), prints.end());
  for (const Print& print : prints) {
    out.asked.insert(shingles[print.position]);
    if (print.stored) out.stored.insert(shingles[print.position]);
  }
  return out;
}

class PrintsTest : public testing::TestWithParam<Simd> {
 protected:
  void SetUp() override { force_simd(GetParam()); }
  void TearDown() override { force_simd(simd_supported()); }
};
INSTANTIATE_TEST_SUITE_P(EachLevel, PrintsTest, testing::ValuesIn(simd_levels()),
                         [](const auto& level) { return std::string(simd_name(level.param)); });

TEST_P(PrintsTest, AreTheLeastOfEveryWindow) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 2'000; ++round) {
    const size_t n = random() % 8 == 0 ? random() % 5'000 : random() % 300;
    const auto passage = static_cast<uint32_t>(1 + random() % 200);
    const std::vector<uint64_t> shingles = random_shingles(random, n, 1 + random() % (n + 5));
    const Found found = prints_of(shingles, passage);
    ASSERT_EQ(found.asked, least_of_windows(shingles, asked_window(n, passage))) << n << " " << passage;
    Keys stored = least_of_windows(shingles, stored_window(n, passage));
    stored.merge(least_of_beginnings(shingles, asked_window(n, passage), stored_window(n, passage)));
    ASSERT_EQ(found.stored, stored) << n << " " << passage;
    std::set<uint32_t> numbers;
    for (size_t i = 0; i < found.prints.size(); ++i) {
      const Print& print = found.prints[i];
      if (i != 0) {
        ASSERT_LT(found.prints[i - 1].position, print.position);
      }
      ASSERT_EQ(print.key >> kPrintBits, 0u);
      ASSERT_NE(static_cast<uint32_t>(print.key), 0u);
      ASSERT_LE(print.number, numbers.size());
      numbers.insert(print.number);
      for (const Print& other : found.prints) {
        ASSERT_EQ(other.key == print.key, other.number == print.number);
        if (other.key == print.key) {
          ASSERT_EQ(other.stored, print.stored);
        }
      }
    }
    ASSERT_EQ(numbers.size(), distinct_prints(found.prints));
  }
}

// Different shingles that are equally small, which is rare. Every level takes the same ones of them, and
// every window still has one.
TEST_P(PrintsTest, OfEquallySmallShinglesAreInEveryWindow) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 1'000; ++round) {
    const size_t n = 1 + random() % 400;
    const auto passage = static_cast<uint32_t>(1 + random() % 100);
    const uint64_t tops = 1 + random() % 20;
    std::vector<uint64_t> shingles(n);
    for (uint64_t& shingle : shingles) shingle = random() % tops << 32 | random() >> 32;
    const Found found = prints_of(shingles, passage);
    force_simd(Simd::scalar);
    ASSERT_EQ(found.prints, prints_of(shingles, passage).prints);
    force_simd(GetParam());
    const auto has_least = [&](size_t window, bool stored) {
      for (size_t begin = 0; begin + window <= n; ++begin) {
        const uint64_t least = *std::min_element(&shingles[begin], &shingles[begin] + window) >> 32;
        if (std::none_of(found.prints.begin(), found.prints.end(), [&](const Print& print) {
              return print.position >= begin && print.position < begin + window &&
                     shingles[print.position] >> 32 == least && (print.stored || !stored);
            }))
          return false;
      }
      return true;
    };
    ASSERT_TRUE(has_least(std::min<size_t>(n, asked_window(n, passage)), false)) << n << " " << passage;
    ASSERT_TRUE(has_least(std::min<size_t>(n, stored_window(n, passage)), true)) << n << " " << passage;
  }
}

// The guarantee that everything else relies on: a common run as long as the passage is found, wherever it is
// in both texts.
TEST(Prints, OfTextsThatShareAPassageMeet) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 1'000; ++round) {
    const auto passage = static_cast<uint32_t>(1 + random() % 160);
    std::vector<uint64_t> stored = random_shingles(random, passage + random() % 2'000, 0);
    std::vector<uint64_t> asks = random_shingles(random, random() % 1'000, 0);
    const auto from = stored.begin() + static_cast<ptrdiff_t>(random() % (stored.size() - passage + 1));
    const auto into = asks.begin() + static_cast<ptrdiff_t>(random() % (asks.size() + 1));
    asks.insert(into, from, from + passage);
    const Keys theirs = prints_of(stored, passage).stored;
    const Keys ours = prints_of(asks, passage).asked;
    ASSERT_TRUE(std::any_of(ours.begin(), ours.end(), [&](uint64_t key) { return theirs.contains(key); }));
  }
}

// However short the beginning is: an original stores one print for 75 shingles elsewhere.
TEST(Prints, OfABeginningMeetTheText) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  size_t stored = 0, beginnings = 0;
  for (int round = 0; round < 500; ++round) {
    const std::vector<uint64_t> text = random_shingles(random, 1'000 + random() % 2'000, 0);
    const Keys theirs = prints_of(text, 150).stored;
    const size_t size = kAskedWindowMost + random() % 150;
    const Keys ours = prints_of({text.begin(), text.begin() + static_cast<ptrdiff_t>(size)}, 150).asked;
    ASSERT_TRUE(std::any_of(ours.begin(), ours.end(), [&](uint64_t key) { return theirs.contains(key); }));
    stored += theirs.size();
    beginnings += theirs.size() - least_of_windows(text, 150).size();
  }
  EXPECT_LT(beginnings, 500 * 2.1);  // 1.79 on the average: ln(150 / 25)
  EXPECT_LT(beginnings * 10, stored);
}

TEST(Prints, OfAShortTextAreInALongOneThatHoldsIt) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 500; ++round) {
    const std::vector<uint64_t> inner = random_shingles(random, 26 + random() % 100, 0);
    std::vector<uint64_t> outer = random_shingles(random, 3'000, 0);
    outer.insert(outer.begin() + static_cast<ptrdiff_t>(random() % 3'000), inner.begin(), inner.end());
    const Keys theirs = prints_of(inner, 150).stored;
    const Keys ours = prints_of(outer, 150).asked;
    ASSERT_TRUE(std::any_of(ours.begin(), ours.end(), [&](uint64_t key) { return theirs.contains(key); }));
  }
}

TEST(Prints, OfOneWordAMillionTimesAreOne) {
  const Found found = prints_of(std::vector<uint64_t>(1'000'000, 42), 150);
  EXPECT_EQ(found.asked.size(), 1u);
  EXPECT_EQ(found.stored.size(), 1u);
  EXPECT_LE(found.prints.size(), 1'000'000u / 25 + 1);
}

TEST(Prints, OfAPassageOfOneShingleAreAllShingles) {
  std::mt19937_64 random(5);
  const std::vector<uint64_t> shingles = random_shingles(random, 500, 0);
  EXPECT_EQ(prints_of(shingles, 1).stored, Keys(shingles.begin(), shingles.end()));
}

TEST(Prints, AreOthersInAnotherScope) {
  std::mt19937_64 random(5);
  const std::vector<uint64_t> shingles = random_shingles(random, 500, 0);
  const Found one = prints_of(shingles, 150, 1), two = prints_of(shingles, 150, 2);
  ASSERT_EQ(one.prints.size(), two.prints.size());
  for (size_t i = 0; i < one.prints.size(); ++i) EXPECT_NE(one.prints[i].key, two.prints[i].key);
}

}  // namespace
}  // namespace doppel
