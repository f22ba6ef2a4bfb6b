#include "state/position_delta.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace doppel {
namespace {

std::string applied(const PositionDelta& delta, std::string position) {
  apply(delta, position);
  return position;
}

TEST(PositionDelta, HoldsWhatChanged) {
  const std::string files(1'000'000, 'f');
  const PositionDelta grown = delta_of(files + "abcd", files + "more" + "efgh");
  EXPECT_EQ(grown, (PositionDelta{.front = files.size(), .middle = "more", .back = 0, .tail = "efgh"}));
  // A change in the middle, and another checksum at the end.
  const PositionDelta inside = delta_of(files + "1" + files + "abcd", files + "22" + files + "efgh");
  EXPECT_EQ(inside,
            (PositionDelta{.front = files.size(), .middle = "22", .back = files.size(), .tail = "efgh"}));
  EXPECT_EQ(delta_of("", "").middle, "");
  EXPECT_EQ(applied(delta_of("", "a position"), ""), "a position");
  EXPECT_EQ(applied(delta_of("a position", ""), "a position"), "");
}

RC_GTEST_PROP(PositionDelta, GivesThePositionBack, ()) {
  // Few letters, so that the positions share much.
  const auto text = rc::gen::container<std::string>(rc::gen::element('a', 'b'));
  const std::string front = *text;
  const std::string back = *text;
  const std::string before = front + *text + back + *text;
  const std::string after = front + *text + back + *text;
  const PositionDelta delta = delta_of(before, after);
  uint64_t length = before.size();
  RC_ASSERT(fits(delta, length));
  RC_ASSERT(length == after.size());
  RC_ASSERT(applied(delta, before) == after);
  std::string bytes;
  put_delta(bytes, delta);
  ByteReader reader(bytes);
  RC_ASSERT(take_delta(reader) == delta);
  RC_ASSERT(reader.done());
}

TEST(PositionDelta, WhatDoesNotFitIsRefused) {
  const auto refused = [](const PositionDelta& delta, uint64_t length) { return !fits(delta, length); };
  EXPECT_TRUE(refused({.front = 7}, 10));
  EXPECT_TRUE(refused({.back = 7}, 10));
  EXPECT_TRUE(refused({.front = 3, .back = 4}, 10));
  EXPECT_TRUE(refused({.front = 1, .back = UINT64_MAX}, 10));
  EXPECT_TRUE(refused({.front = UINT64_MAX, .back = 1}, 10));
  EXPECT_TRUE(refused({.front = 1}, 3));
  EXPECT_TRUE(refused({.tail = "12345"}, 10));
  EXPECT_FALSE(refused({.front = 3, .back = 3}, 10));
}

}  // namespace
}  // namespace doppel
