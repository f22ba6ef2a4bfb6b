#include "index/banding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "base/status.h"

namespace doppel {
namespace {

TEST(Banding, TheDefaultIs11By4) {
  auto banding = choose_banding(.8, .995, 128);
  ASSERT_TRUE(banding.ok());
  EXPECT_EQ(*banding, (Banding{11, 4}));
  EXPECT_EQ(min_equal_slices(800000, 128), 80);
}

TEST(Banding, MeetingProbabilityIsTheFormula) {
  for (double s : {0.0, .1, .5, .8, .95, 1.0}) {
    for (Banding banding : {Banding{1, 1}, Banding{18, 6}, Banding{64, 2}, Banding{3, 40}}) {
      EXPECT_NEAR(meeting_probability(s, banding), 1 - std::pow(1 - std::pow(s, banding.rows), banding.bands),
                  1e-12);
    }
  }
}

// Tries every (rows, bands), by the definition.
Banding brute_force(double threshold, double recall, int num_perm) {
  Banding best;
  double least = 0;
  for (int rows = 1; rows <= num_perm; ++rows) {
    for (int bands = 1; bands * rows <= num_perm; ++bands) {
      if (meeting_probability(threshold, {bands, rows}) < recall) continue;
      const Banding banding{bands, rows};
      const double cost = banding_cost(threshold, banding);
      if (best.rows == 0 || cost < least || (cost == least && rows > best.rows)) {
        best = banding;
        least = cost;
      }
    }
  }
  return best;
}

TEST(Banding, ChoosesWhatBruteForceChooses) {
  for (int num_perm : {8, 16, 64, 100, 128, 256}) {
    for (double threshold : {.05, .3, .5, .7, .8, .9, .99, 1.0}) {
      for (double recall : {.5, .9, .99, .995, .9999}) {
        const Banding expected = brute_force(threshold, recall, num_perm);
        auto chosen = choose_banding(threshold, recall, num_perm);
        SCOPED_TRACE(testing::Message() << num_perm << " " << threshold << " " << recall);
        ASSERT_EQ(chosen.ok(), expected.rows > 0);
        if (chosen.ok()) {
          EXPECT_EQ(*chosen, expected);
        }
      }
    }
  }
}

TEST(Banding, WhatAnErrorPromisesIsPossible) {
  auto chosen = choose_banding(.05, .995, 64);
  ASSERT_FALSE(chosen.ok());
  const std::string message(std_sv(chosen.status().message()));
  auto number = [&](const std::string& before) {
    const size_t at = message.rfind(before);
    EXPECT_NE(at, std::string::npos) << message;
    return std::stod(message.substr(at + before.size()));
  };
  EXPECT_TRUE(choose_banding(.05, number("possible: recall "), 64).ok()) << message;
  EXPECT_TRUE(choose_banding(number("or threshold "), .995, 64).ok()) << message;
  EXPECT_TRUE(choose_banding(.05, .995, static_cast<int>(number("or num_perm "))).ok()) << message;
}

TEST(Banding, RefusesWhatIsNoProbability) {
  for (double bad : {-1.0, 0.0, 1.5, std::nan("")}) {
    EXPECT_FALSE(choose_banding(bad, .9, 128).ok());
    EXPECT_FALSE(choose_banding(.8, bad, 128).ok());
  }
  EXPECT_FALSE(choose_banding(.8, 1, 128).ok());
  EXPECT_FALSE(choose_banding(.8, .9, 0).ok());
}

TEST(Banding, MinEqualStaysInRange) {
  for (uint32_t ppm : {0u, 1u, 10000u, 500000u, 800000u, 999999u, 1000000u}) {
    int last = 1;
    for (int k : {1, 8, 64, 128, 1024}) {
      const int least = min_equal_slices(ppm, k);
      EXPECT_GE(least, last);
      EXPECT_LE(least, k);
      last = least;
    }
  }
  EXPECT_EQ(min_equal_slices(1000000, 128), 128);
}

}  // namespace
}  // namespace doppel
