#include "index/pages.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace doppel {
namespace {

TEST(Pages, GrowByHugePagesAndAnnounceThePartThatComesNext) {
  Pages pages(10 * kHugePage, kHugePage, kHugePage);
  ASSERT_TRUE(pages.grow(kHugePage + 1));  // two are usable then
  pages.data()[2 * kHugePage - 1] = 1;
  std::vector<std::pair<size_t, size_t>> told;  // offset, bytes
  const FreshMemory fresh = [&](void* at, size_t bytes) {
    told.emplace_back(static_cast<unsigned char*>(at) - pages.data(), bytes);
  };
  pages.ahead(5'000, 10'000, fresh);
  EXPECT_EQ(pages.announced(), 16'384U);
  pages.ahead(5'000, 100 * kHugePage, fresh);
  EXPECT_EQ(pages.announced(), 2 * kHugePage);
  const std::vector<std::pair<size_t, size_t>> expected{{8'192, 8'192}, {16'384, 2 * kHugePage - 16'384}};
  EXPECT_EQ(told, expected);
}

TEST(Pages, DoNotGrowBeyondWhatIsReserved) {
  Pages pages(3 * kHugePage, kHugePage, kHugePage);
  EXPECT_FALSE(pages.grow(3 * kHugePage + 1));
  EXPECT_FALSE(pages.grow(100 * kHugePage));
  EXPECT_TRUE(pages.grow(3 * kHugePage));
  pages.data()[3 * kHugePage - 1] = 1;
}

}  // namespace
}  // namespace doppel
