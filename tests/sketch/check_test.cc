// Deliberately broken contracts of sketches and sets.
#include "base/check.h"

#include <gtest/gtest.h>

#include "sketch/compact_set.h"
#include "sketch/sketch.h"

namespace doppel {
namespace {

using testing::ExitedWithCode;

TEST(BrokenSketchDeathTest, ASketchHasSlots) {
  for (const int slots : {-1, 0, 7, 1025})
    EXPECT_EXIT(Sketcher(SketchFamily::fast, slots, {}), ExitedWithCode(kBrokenExitCode),
                "a sketch has 8 to");
}

TEST(BrokenSketchDeathTest, ASetHasNoMoreValuesThanItsBitsTellApart) {
  CompactSet set;
  std::string out;
  set.values = {0, 1, 2};
  for (const int bits : {0, 1, 33}) {
    set.bits = bits;
    EXPECT_EXIT(encode_compact_set(set, out), ExitedWithCode(kBrokenExitCode),
                "than its bits can tell apart");
  }
  set.bits = 2;
  encode_compact_set(set, out);
}

// A set with a repeated value would share more with itself than it has.
TEST(BrokenSketchDeathTest, SetsShareNoMoreThanTheyHave) {
  CompactSet once, repeated;
  once.bits = 24;
  once.values = {5, 5, 5};
  repeated.bits = 26;
  repeated.values = {20, 21, 22};
  EXPECT_EXIT((void)overlap(once, repeated), ExitedWithCode(kBrokenExitCode), "share no more than they have");
}

}  // namespace
}  // namespace doppel
