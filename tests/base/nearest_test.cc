#include "base/strings.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace doppel {
namespace {

// The definition, by recursion.
int slow_distance(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty()) return static_cast<int>(a.size() + b.size());
  std::string_view a1 = a.substr(1);
  std::string_view b1 = b.substr(1);
  int least =
      std::min({slow_distance(a1, b) + 1, slow_distance(a, b1) + 1, slow_distance(a1, b1) + (a[0] != b[0])});
  if (a.size() > 1 && b.size() > 1 && a[0] == b[1] && a[1] == b[0]) {
    least = std::min(least, slow_distance(a.substr(2), b.substr(2)) + 1);
  }
  return least;
}

RC_GTEST_PROP(EditDistance, IsTheDefinition, ()) {
  auto word = rc::gen::resize(6, rc::gen::container<std::string>(rc::gen::element('a', 'b', 'c')));
  std::string a = *word;
  std::string b = *word;
  RC_ASSERT(edit_distance(a, b) == slow_distance(a, b));
}

TEST(NearestName, IsOnlyOfferedWhenNear) {
  std::vector<std::string> names{"threshold", "state.fsync", "state.directory", "bands", "rows"};
  EXPECT_EQ(nearest_name("treshold", names), "threshold");
  EXPECT_EQ(nearest_name("state.fsnyc", names), "state.fsync");
  EXPECT_EQ(nearest_name("fsync", names), "state.fsync");
  EXPECT_EQ(nearest_name("stat.directory", names), "state.directory");
  EXPECT_EQ(nearest_name("row", names), "rows");
  EXPECT_EQ(nearest_name("kafka.brokers", names), "");
  EXPECT_EQ(nearest_name("x", names), "");
  EXPECT_EQ(nearest_name("", names), "");
}

}  // namespace
}  // namespace doppel
