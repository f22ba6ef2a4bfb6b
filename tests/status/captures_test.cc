#include "status/captures.h"

#include <gtest/gtest.h>

namespace doppel {
namespace {

std::string url(int i) { return "http://h.example/" + std::to_string(i); }

TEST(Captures, KeepsTheLastOnes) {
  Captures captures(10);
  for (int i = 0; i < 1000; ++i) {
    captures.add(url(i), {.date_ms = i});
    for (int j = std::max(0, i - 4); j <= i; ++j) ASSERT_TRUE(captures.last(url(j))) << i << " " << j;
    ASSERT_FALSE(captures.last(url(i - 10)));
  }
}

TEST(Captures, AreFoundByTheKeyOfCdxServers) {
  Captures captures(4);
  captures.add("http://www.H.example/a?c=1&b=2", {.date_ms = 50});
  ASSERT_TRUE(captures.last("https://h.example/a?b=2&c=1"));
  EXPECT_FALSE(captures.last("https://h.example/a?b=2&c=2"));
  captures.add("no url", {.date_ms = 60});
  EXPECT_EQ(captures.last("no url")->date_ms, 60);
}

TEST(Captures, TheLatestCaptureCounts) {
  Captures captures(4);
  captures.add(url(1), {.date_ms = 50});
  captures.add(url(1), {.date_ms = 40});
  EXPECT_EQ(captures.last(url(1))->date_ms, 50);
  captures.add(url(2), {.date_ms = 1});
  captures.add(url(1), {.date_ms = 45});  // beside the older ones
  EXPECT_EQ(captures.last(url(1))->date_ms, 50);
  captures.add(url(1), {.date_ms = 60});
  EXPECT_EQ(captures.last(url(1))->date_ms, 60);
}

}  // namespace
}  // namespace doppel
