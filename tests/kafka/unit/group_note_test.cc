#include "kafka/same_topic.h"

#include <gtest/gtest.h>

namespace doppel::testing {
namespace {

TEST(GroupNote, SaysWhereAGroupStands) {
  const auto read = kafka::parse_group_note(
      kafka::group_note({.next = 17, .incarnation = 2, .last_ms = 1'700'000'000'000}));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->next, 17);
  EXPECT_EQ(read->incarnation, 2U);
  EXPECT_EQ(read->last_ms, 1'700'000'000'000);
  EXPECT_EQ(kafka::parse_group_note(kafka::group_note({.next = 0}))->last_ms, -1);
  for (const char* other : {"", "doppel", "doppel 1", "doppel 1 0 3", "doppel -1 1 3", "doppel 1 2 x",
                            "doppel 1 2 3 4", "doppel 1 99999999999 3", "a note of somebody else"})
    EXPECT_FALSE(kafka::parse_group_note(other)) << other;
}

}  // namespace
}  // namespace doppel::testing
