// What a batch changes, in short.
#include "engine/resolved.h"

#include <gtest/gtest.h>

#include <vector>

namespace doppel {
namespace {

TEST(Resolved, TheStrongestRelation) {
  Outcome outcome;
  EXPECT_EQ(strongest_relation(outcome), std::nullopt);
  outcome.related = {{.relation = Relation::shares}};
  EXPECT_EQ(strongest_relation(outcome), Relation::shares);
  outcome.related = {{.relation = Relation::contains}, {.relation = Relation::contained}};
  EXPECT_EQ(strongest_relation(outcome), Relation::contained);
  outcome.related = {{.relation = Relation::contains}, {.relation = Relation::shares}};
  EXPECT_EQ(strongest_relation(outcome), Relation::contains);
}

TEST(Resolved, NumbersAndCopies) {
  Resolved resolved;
  resolved.removed = {{.seq = 4, .reason = RemovalReason::expired},
                      {.seq = 2, .reason = RemovalReason::removed}};
  EXPECT_EQ(resolved.removed_numbers(), (std::vector<Seq>{4, 2}));
  resolved.better = {{.document = 1, .seq = 7, .copy = "a", .before = ""},
                     {.document = 2, .seq = 7, .copy = "b", .before = "a"}};
  EXPECT_EQ(resolved.shown(), (std::vector<Shown>{{.seq = 7, .copy = "a"}, {.seq = 7, .copy = "b"}}));
  resolved.lowest_live = 3;
  resolved.clear();
  EXPECT_TRUE(resolved.removed.empty() && resolved.better.empty());
}

TEST(Resolved, ReasonsOfRemovals) {
  EXPECT_EQ(removal_reason_name(RemovalReason::removed), "removed");
  EXPECT_EQ(removal_reason_name(RemovalReason::replaced), "replaced");
  EXPECT_EQ(removal_reason_name(RemovalReason::forgotten), "forgotten");
  EXPECT_EQ(removal_reason_name(RemovalReason::expired), "expired");
  EXPECT_EQ(removal_reason_name(RemovalReason::evicted), "evicted");
}

}  // namespace
}  // namespace doppel
