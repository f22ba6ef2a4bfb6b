#include "kafka/records.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace doppel::kafka {
namespace {

TEST(MessageSize, CountsValueKeyHeadersAndMore) {
  const std::vector<Header> headers = {{.name = "abc", .value = "defg"}, {.name = "h", .value = {}}};
  Record record;
  record.value = "0123456789";
  EXPECT_EQ(bytes_of(record), 10u);
  record.key = "key";
  record.headers = headers;
  EXPECT_EQ(bytes_of(record), 10u + 3 + (3 + 4 + 8) + (1 + 8));
  const int64_t least = static_cast<int64_t>(bytes_of(record) + 100 + kMessageOverhead);
  EXPECT_TRUE(fits_compressed({.name = "t", .message_bytes_max = least}, record, 100));
  EXPECT_FALSE(fits_compressed({.name = "t", .message_bytes_max = least - 1}, record, 100));
  EXPECT_TRUE(fits({.name = "t", .message_bytes_max = least}, bytes_of(record) + 100));
  EXPECT_FALSE(fits({.name = "t", .message_bytes_max = least}, bytes_of(record) + 101));
}

TEST(MessageSize, MeasuresARecordAsItIsCompressed) {
  std::mt19937_64 random(1);
  std::string bytes(100'000, 'a'), noise(100'000, 0);
  for (char& c : noise) c = static_cast<char>(random());
  Record record;
  record.value = bytes;
  const OutputTopic topic{.name = "t", .message_bytes_max = 50'000, .compressed = true};
  EXPECT_TRUE(fits_compressed(topic, record, 0));
  EXPECT_FALSE(fits_compressed(topic, record, 50'000 - kMessageOverhead));
  EXPECT_FALSE(fits_compressed({.name = "t", .message_bytes_max = 50'000}, record, 0));
  record.value = noise;
  EXPECT_FALSE(fits_compressed(topic, record, 0));
  // Key and headers count, too.
  record.value = bytes;
  record.key = noise;
  EXPECT_FALSE(fits_compressed(topic, record, 0));
  record.key.reset();
  const std::vector<Header> headers = {{.name = "h", .value = noise}};
  record.headers = headers;
  EXPECT_FALSE(fits_compressed(topic, record, 0));
}

}  // namespace
}  // namespace doppel::kafka
