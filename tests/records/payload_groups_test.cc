// Groups of captures, against the slow and obvious way to find them.
#include "records/payload_groups.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <random>
#include <utility>
#include <vector>

namespace doppel {
namespace {

// Gives every capture of both groups the same group, and searches all captures for the earliest one.
class SlowGroups {
 public:
  void tie(const PayloadGroups::Capture& copy, const PayloadGroups::Capture& original) {
    const size_t from = group(copy), to = group(original);
    if (from == to) return;
    for (auto& [key, of] : of_) of = of == from ? to : of;
    // The captures of the original's group stay before the others.
    members_[to].insert(members_[to].end(), members_[from].begin(), members_[from].end());
  }

  PayloadGroups::Key earliest(PayloadGroups::Key key) {
    if (!of_.contains(key)) return key;
    const std::vector<PayloadGroups::Capture>& all = members_[of_[key]];
    const PayloadGroups::Capture* best = &all.front();
    for (const PayloadGroups::Capture& each : all)
      if (each.time_ms && (!best->time_ms || *each.time_ms < *best->time_ms)) best = &each;
    return best->key;
  }

 private:
  size_t group(const PayloadGroups::Capture& capture) {
    const auto [at, fresh] = of_.emplace(capture.key, members_.size());
    if (fresh) members_.push_back({capture});
    return at->second;
  }

  std::map<PayloadGroups::Key, size_t> of_;
  std::vector<std::vector<PayloadGroups::Capture>> members_;
};

RC_GTEST_PROP(PayloadGroups, AreThoseOfTheSlowWay, (uint64_t seed)) {
  std::mt19937_64 random(seed);
  const size_t captures = 1 + random() % 40;
  std::vector<PayloadGroups::Capture> all(captures);
  for (size_t i = 0; i < captures; ++i) {
    all[i].key = i;
    if (random() % 4 != 0) all[i].time_ms = static_cast<int64_t>(random() % 30);
  }
  PayloadGroups fast;
  SlowGroups slow;
  for (size_t ties = random() % 60; ties > 0; --ties) {
    const auto &copy = all[random() % captures], &original = all[random() % captures];
    fast.tie(copy, original);
    slow.tie(copy, original);
    for (PayloadGroups::Key key = 0; key <= captures; ++key)
      RC_ASSERT(fast.earliest(key) == slow.earliest(key));
  }
}

// A time of 0 or before 1970 is a time, and earlier than none.
TEST(PayloadGroups, AnUnknownTimeIsLate) {
  PayloadGroups groups;
  groups.tie({.key = 1, .time_ms = 5}, {.key = 2, .time_ms = {}});
  EXPECT_EQ(groups.earliest(1), 1U);
  EXPECT_EQ(groups.earliest(2), 1U);
  groups.tie({.key = 3, .time_ms = -7}, {.key = 2, .time_ms = {}});
  EXPECT_EQ(groups.earliest(2), 3U);
  EXPECT_EQ(groups.earliest(9), 9U);
}

}  // namespace
}  // namespace doppel
