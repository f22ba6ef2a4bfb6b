// Items in documents, against the distance of each item to each part of each document.
#include "evals/item_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

namespace doppel {
namespace {

using Words = std::vector<uint64_t>;

uint64_t word(uint64_t n) { return (n + 1) * 0x9e3779b97f4a7c15u ^ (n << 40); }

Words words(std::initializer_list<uint64_t> numbers) {
  Words out;
  for (const uint64_t n : numbers) out.push_back(word(n));
  return out;
}

Words range(uint64_t begin, uint64_t end) {
  Words out;
  for (uint64_t n = begin; n < end; ++n) out.push_back(word(n));
  return out;
}

Words operator+(Words a, const Words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// The fewest edits between the item and any part of the document.
uint32_t fewest_edits(const Words& item, const Words& document) {
  std::vector<uint32_t> row(document.size() + 1, 0);  // a part begins anywhere
  for (const uint64_t one : item) {
    uint32_t diagonal = row[0]++;
    for (size_t j = 1; j <= document.size(); ++j) {
      const uint32_t replaced = diagonal + (one == document[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return *std::min_element(row.begin(), row.end());
}

uint32_t most_edits(size_t words) {
  if (words < 6) return 0;
  if (words < 8) return 1;
  return words < 10 ? 2 : static_cast<uint32_t>(words * 34 / 100);
}

std::vector<ItemMatch> find(const ItemIndex& index, const Words& document) {
  ItemIndex::Finder finder(index);
  std::vector<ItemMatch> out;
  finder.find(document, out);
  return out;
}

TEST(ItemIndex, FindsWhatIsNearEnoughAndNothingElse) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  size_t found = 0;
  for (int round = 0; round < 60; ++round) {
    const unsigned different = 20 + random() % 400;
    const auto some = [&](size_t n) {
      Words out(n);
      for (uint64_t& one : out) one = word(random() % different);
      return out;
    };
    ItemIndex index({.common_after = 1000});
    std::vector<Words> items;
    for (int i = 0; i < 40; ++i) {
      items.push_back(i % 9 == 8 ? items[random() % items.size()] : some(5 + random() % 90));
      EXPECT_TRUE(index.add(items.back()));
    }
    index.finish();
    ItemIndex::Finder finder(index);
    for (int d = 0; d < 10; ++d) {
      Words document = some(random() % 200);
      for (int planted = 0; planted < 3; ++planted) {
        Words copy = items[random() % items.size()];
        for (size_t i = random() % (1 + copy.size() / 3); i > 0; --i) {
          const auto at = copy.begin() + static_cast<long>(random() % copy.size());
          if (random() % 4 == 0)
            copy.erase(at);
          else if (random() % 3 == 0)
            copy.insert(at, word(random() % different));
          else
            *at = word(random() % different);
        }
        document.insert(document.begin() + static_cast<long>(random() % (document.size() + 1)), copy.begin(),
                        copy.end());
      }
      std::vector<ItemMatch> matches;
      finder.find(document, matches);
      found += matches.size();
      for (uint32_t i = 0; i < items.size(); ++i) {
        const auto match = std::find_if(matches.begin(), matches.end(),
                                        [&](const ItemMatch& each) { return each.item == i; });
        const uint32_t edits = fewest_edits(items[i], document);
        const uint32_t most = most_edits(items[i].size());
        if (match != matches.end()) {
          EXPECT_EQ(match->edits, edits);
          EXPECT_LE(edits, most);
          EXPECT_EQ(match->words, items[i].size());
          const Words part(document.begin() + match->begin, document.begin() + match->end);
          EXPECT_EQ(fewest_edits(items[i], part), edits);
        } else if (edits <= most && (edits == 0 || items[i].size() > 11)) {
          // Each edit destroys at most three grams; a quarter of them must remain.
          const size_t grams = items[i].size() - 2;
          EXPECT_LT(grams, size_t{3} * edits + std::max<size_t>(1, grams / 4)) << "item " << i;
        }
      }
    }
  }
  EXPECT_GT(found, 600);
}

TEST(ItemIndex, ShortOnesAreFoundAnywhere) {
  ItemIndex index({});
  EXPECT_TRUE(index.add(range(10, 15)));
  EXPECT_FALSE(index.add(range(10, 14)));
  index.finish();
  const Words before = range(1000, 1200), behind = range(2000, 2100);
  EXPECT_EQ(find(index, before + range(10, 15) + behind),
            (std::vector<ItemMatch>{{.item = 0, .begin = 200, .end = 205, .words = 5}}));
  EXPECT_EQ(find(index, range(10, 15)), (std::vector<ItemMatch>{{.item = 0, .end = 5, .words = 5}}));
  EXPECT_TRUE(find(index, before + behind).empty());
  EXPECT_TRUE(find(index, {}).empty());
  EXPECT_TRUE(find(index, range(10, 12)).empty());
}

// Five words in a row may be a stock phrase: an edited item of six words needs more.
TEST(ItemIndex, OfFewWordsTheFirstAndTheLastMustBeThere) {
  ItemIndex index({});
  index.add(range(10, 16));
  index.add(range(20, 25));
  index.finish();
  EXPECT_EQ(find(index, words({10, 11, 12, 99, 14, 15})).size(), 1u);
  EXPECT_EQ(find(index, words({10, 11, 12, 13, 99, 14, 15})).size(), 1u);
  EXPECT_TRUE(find(index, words({10, 11, 12, 13, 14, 99})).empty());
  EXPECT_TRUE(find(index, words({99, 11, 12, 13, 14, 15})).empty());
  EXPECT_TRUE(find(index, words({20, 21, 22, 99, 23, 24})).empty());
}

// Many texts contain the frame of a question, but not its long words.
TEST(ItemIndex, OfFewWordsMostLettersMustBeThere) {
  const std::vector<uint32_t> lengths{4, 2, 3, 4, 2, 3, 7, 5};  // what is the name of the largest ocean
  ItemIndex index({});
  index.add(range(10, 18), lengths);
  index.finish();
  EXPECT_TRUE(find(index, range(10, 16) + range(50, 60)).empty());
  EXPECT_EQ(find(index, words({10, 11, 12, 50, 51, 15, 16, 17})).size(), 1u);
  EXPECT_EQ(find(index, words({10, 11, 12, 13, 14, 15, 16})).size(), 1u);
}

// A document with only the prompt before each item, or the question after each, contains no item.
TEST(ItemIndex, WhatManyItemsHaveSaysNothing) {
  ItemIndex index({});
  const Words prompt = range(0, 30);
  for (uint64_t i = 0; i < 40; ++i) index.add(prompt + range(1000 + 10 * i, 1008 + 10 * i));
  index.add(prompt + words({7777, 7778}));  // too few words of its own: must match word for word
  index.finish();
  EXPECT_TRUE(find(index, prompt + range(500, 520)).empty());
  ASSERT_EQ(find(index, prompt + range(1050, 1058)).size(), 1u);
  EXPECT_EQ(find(index, range(1050, 1058))[0].item, 5u);
  EXPECT_EQ(find(index, prompt + words({7777, 7778}))[0].item, 40u);
  EXPECT_TRUE(find(index, prompt + words({7777, 7779})).empty());
  EXPECT_TRUE(find(index, range(1, 30) + words({7777, 7778})).empty());
}

TEST(ItemIndex, EqualItemsAreAllNamed) {
  ItemIndex index({});
  for (int i = 0; i < 3; ++i) index.add(range(0, 9));
  index.add(range(50, 59));
  index.finish();
  const auto matches = find(index, range(0, 9));
  ASSERT_EQ(matches.size(), 3u);
  for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(matches[i].item, i);
}

// All of its words, three by three, are in many others.
TEST(ItemIndex, AnItemOfCommonWordsIsNone) {
  ItemIndex index({});
  for (uint64_t i = 0; i < 200; ++i) index.add(range(0, 6) + words({100 + i}));
  index.add(range(0, 6));
  index.add(range(0, 6));
  index.add(range(0, 6) + words({999}));  // one gram of its own
  EXPECT_EQ(index.finish(), (std::vector<uint32_t>{200, 201}));
  EXPECT_TRUE(find(index, range(0, 6)).empty());
  EXPECT_EQ(find(index, range(0, 6) + words({999})).size(), 1u);
}

TEST(ItemIndex, AVeryLongItemIsFoundByItsBeginning) {
  ItemIndex index({});
  index.add(range(0, 100'000));
  index.finish();
  EXPECT_EQ(find(index, range(0, 3000)).size(), 1u);
}

}  // namespace
}  // namespace doppel
