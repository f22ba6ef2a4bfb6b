// Which originals that list a document's prints are compared with it, and how many.

#include "engine/relatives.h"

#include <gtest/gtest.h>

namespace doppel {
namespace {

constexpr uint32_t kPassage = 150;

RelationRule rule_with(bool contained, bool contains, bool shares) {
  return {.contained = contained, .contains = contains, .shares = shares, .passage = kPassage};
}

// `count` hits, each `step` shingles behind the one before.
Hits hits_every(const RelationRule& rule, uint32_t step, size_t count) {
  Hits hits;
  for (uint32_t i = 0; i < count; ++i) hits.add(rule, i * step);
  return hits;
}

TEST(Promising, AContainerHasPrintsAllOverTheDocument) {
  const RelationRule rule = rule_with(true, false, false);
  constexpr size_t kShingles = 20 * kPassage;
  // An original lists the prints of what begins to be a template one by one: those of one passage are many.
  EXPECT_FALSE(promising(rule, hits_every(rule, 12, 12), kShingles, 127));
  EXPECT_FALSE(promising(rule, hits_every(rule, 1, 100), kShingles, 127));
  // A fourth of those that it has without edits is enough.
  EXPECT_TRUE(promising(rule, hits_every(rule, 2 * kPassage, 10), kShingles, 127));
  EXPECT_FALSE(promising(rule, hits_every(rule, 2 * kPassage, 9), kShingles, 127));
  EXPECT_TRUE(promising(rule, hits_every(rule, kPassage / 2, 40), kShingles, 127));
  // Of a short document one print is.
  EXPECT_TRUE(promising(rule, hits_every(rule, 1, 1), kPassage, 127));
  EXPECT_FALSE(promising(rule, Hits(), kPassage, 127));
}

TEST(Promising, APartHasAnEighthOfItsPrintsInTheDocument) {
  const RelationRule rule = rule_with(false, true, false);
  constexpr size_t kShingles = 20 * kPassage;
  EXPECT_TRUE(promising(rule, hits_every(rule, 12, 2), kShingles, 16));
  EXPECT_FALSE(promising(rule, hits_every(rule, 12, 2), kShingles, 17));
}

TEST(Promising, APassageIsSharedWhereverAPrintIs) {
  const RelationRule rule = rule_with(true, true, true);
  EXPECT_TRUE(promising(rule, hits_every(rule, 1, 1), 1'000'000, 127));
}

TEST(ComparedMost, FallsWithTheLengthOfTheDocument) {
  RelationRule rule = rule_with(true, true, true);
  EXPECT_EQ(compared_most(rule, 64, 0), 64);
  EXPECT_EQ(compared_most(rule, 64, 512), 64);
  EXPECT_EQ(compared_most(rule, 64, 1'024), 32);
  EXPECT_EQ(compared_most(rule, 64, 10'000), rule.max_related);
  EXPECT_EQ(compared_most(rule, 3, 10'000), 3);
  rule.max_related = 50;  // as many as are reported
  EXPECT_EQ(compared_most(rule, 64, 10'000), 50);
  rule.cut = true;
  EXPECT_EQ(compared_most(rule, 64, 10'000), 64);
}

}  // namespace
}  // namespace doppel
