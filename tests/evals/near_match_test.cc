// The fewest edits between a pattern of words and any part of a text, against a table of all of them.
#include "evals/item_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace doppel {
namespace {

using Words = std::vector<uint64_t>;

uint32_t distance(const Words& pattern, std::span<const uint64_t> part) {
  std::vector<uint32_t> row(part.size() + 1);
  for (size_t j = 0; j <= part.size(); ++j) row[j] = static_cast<uint32_t>(j);
  for (size_t i = 1; i <= pattern.size(); ++i) {
    uint32_t diagonal = row[0]++;
    for (size_t j = 1; j <= part.size(); ++j) {
      const uint32_t replaced = diagonal + (pattern[i - 1] == part[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

// What find() promises, word for word.
std::optional<NearMatch> slowly(const Words& pattern, const Words& text, uint32_t most) {
  std::optional<NearMatch> best;
  for (uint32_t end = 0; end <= text.size(); ++end) {
    for (uint32_t begin = end + 1; begin-- > 0;) {  // the shortest first
      const uint32_t edits = distance(pattern, std::span(text).subspan(begin, end - begin));
      if (edits <= most && (!best || edits < best->edits)) best = NearMatch{begin, end, edits};
    }
  }
  return best;
}

TEST(NearMatch, IsTheBestOfAllParts) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 400; ++round) {
    const auto words = [&](size_t n, unsigned different) {
      Words out(n);
      for (uint64_t& word : out) word = (random() % different + 1) * 0x9e3779b97f4a7c15u;
      return out;
    };
    const unsigned different = 2 + random() % 30;
    Words pattern = words(1 + random() % (round % 8 == 0 ? 150 : 12), different);
    Words text = words(random() % 30, different);
    if (random() % 2 == 0) {  // the text contains nearly the pattern
      Words copy = pattern;
      for (unsigned i = random() % 4; i > 0 && !copy.empty(); --i) {
        const auto at = copy.begin() + static_cast<long>(random() % copy.size());
        if (random() % 3 == 0)
          copy.erase(at);
        else if (random() % 2 == 0)
          copy.insert(at, 1);
        else
          *at = 1;
      }
      text.insert(text.begin() + static_cast<long>(random() % (text.size() + 1)), copy.begin(), copy.end());
    }
    // An empty part has as many edits as the pattern has words: it does not count as a place.
    const auto most = static_cast<uint32_t>(random() % pattern.size());
    NearMatcher matcher;
    matcher.set(pattern);
    const auto expected = slowly(pattern, text, most);
    EXPECT_EQ(matcher.find(text, most), expected);
    EXPECT_EQ(matcher.find(text, most), expected) << "the second time";
  }
}

TEST(NearMatch, AnEmptyTextHasNothing) {
  NearMatcher matcher;
  matcher.set(Words{1, 2, 3});
  EXPECT_EQ(matcher.find(Words{}, 2), std::nullopt);
}

}  // namespace
}  // namespace doppel
