#include "base/faults.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>

namespace doppel {
namespace {

TEST(KillPoint, CountsPassesOfItsName) {
  KillPoints points("commit:2,rename:1");
  EXPECT_FALSE(points.pass("commit"));
  EXPECT_FALSE(points.pass("other"));
  EXPECT_TRUE(points.pass("rename"));
  EXPECT_TRUE(points.pass("commit"));
  EXPECT_FALSE(points.pass("commit"));  // once
}

TEST(KillPoint, WhatIsNoPointIsLeftOut) {
  KillPoints points("a,b:,:3,c:0,d:x,e:1y,,f:1");
  for (const char* name : {"a", "b", "", "c", "d", "e"}) EXPECT_FALSE(points.pass(name)) << name;
  EXPECT_TRUE(points.pass("f"));
}

TEST(KillPoint, NothingWithoutTheVariable) {
  for (int i = 0; i < 3; ++i) kill_point("here");
}

// The child of this kind of death test is a new process, so it reads the variable.
TEST(KillPointDeathTest, KillsTheProcess) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  ::setenv("DOPPEL_KILL_AT", "here:3", 1);
  EXPECT_EXIT(
      {
        kill_point("here");
        kill_point("here");
        std::fputs("two passed", stderr);
        kill_point("here");
      },
      testing::KilledBySignal(SIGKILL), "two passed");
  ::unsetenv("DOPPEL_KILL_AT");
}

}  // namespace
}  // namespace doppel
