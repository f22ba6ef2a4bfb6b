#include "pipeline/buffers.h"

#include <gtest/gtest.h>

#include <cstring>

namespace doppel {
namespace {

// Each read appends a few bytes to a record of any length, as a source does that does not know where it ends.
TEST(FillingTest, ALongRecordIsCopiedAFewTimesOnly) {
  constexpr size_t kRead = 1000, kRecord = 10'000'000;
  Filling filling(4 * kRead);
  size_t moved = 0;
  const char* before = nullptr;
  for (size_t length = 0; length < kRecord; length += kRead) {
    ASSERT_EQ(filling.make_room(0, kRead), 0U);
    ASSERT_GE(filling.room(), kRead);
    if (filling.data() != before) moved += length;
    before = filling.data();
    std::memset(filling.data() + filling.end(), static_cast<int>(length / kRead % 251), kRead);
    filling.appended(kRead);
  }
  EXPECT_LT(moved, 4 * kRecord);
  for (size_t i = 0; i < kRecord; ++i)
    ASSERT_EQ(static_cast<unsigned char>(filling.data()[i]), i / kRead % 251) << i;
}

TEST(FillingTest, ShortRecordsShareABufferOfTheUsualSize) {
  Filling filling(1000);
  ASSERT_EQ(filling.make_room(0, 250), 0U);
  EXPECT_EQ(filling.room(), 1000U);
  filling.appended(900);
  EXPECT_EQ(filling.make_room(800, 250), 0U);  // the 100 bytes that are open move to the next one
  EXPECT_EQ(filling.end(), 100U);
  EXPECT_EQ(filling.room(), 900U);
}

}  // namespace
}  // namespace doppel
