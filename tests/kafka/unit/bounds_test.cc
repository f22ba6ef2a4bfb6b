// The offsets that a rebuild reads: reading returns what was written, and refuses damage.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kafka/merge_source.h"

namespace doppel::kafka {
namespace {

TEST(Bounds, AreReadAsTheyWereWritten) {
  const std::vector<Bounds> bounds{
      {"pages", 0, 5, 900}, {"pages", 1, 0, 0}, {"a.b-c", 300, 1'000'000'000'000, 1'000'000'000'001}};
  const std::string bytes = encode_bounds(bounds);
  const auto read = decode_bounds(bytes);
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->size(), bounds.size());
  for (size_t i = 0; i < bounds.size(); ++i) {
    EXPECT_EQ((*read)[i].topic, bounds[i].topic);
    EXPECT_EQ((*read)[i].partition, bounds[i].partition);
    EXPECT_EQ((*read)[i].begin, bounds[i].begin);
    EXPECT_EQ((*read)[i].end, bounds[i].end);
  }
  EXPECT_TRUE(decode_bounds(encode_bounds({}))->empty());
  EXPECT_FALSE(decode_bounds(bytes + "x").ok());
  for (size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(decode_bounds(bytes.substr(0, length)).ok());
}

}  // namespace
}  // namespace doppel::kafka
