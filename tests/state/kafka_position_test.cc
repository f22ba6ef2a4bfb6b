// The position of a snapshot in its index log: all versions are read, damage and newer versions are refused.
#include "state/kafka_position.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <random>
#include <string>

#include "base/bytes.h"

namespace doppel::kafka {
namespace {

std::string random_text(std::mt19937_64& random) {
  std::string out(random() % 20, '\0');
  for (char& c : out) c = static_cast<char>(random());
  return out;
}

KafkaPosition random_position(std::mt19937_64& random) {
  KafkaPosition out{.cluster = random_text(random),
                    .index_log = random_text(random),
                    .log_offset = static_cast<int64_t>(random() >> 1),
                    .covered_ms = static_cast<int64_t>(random() >> 1),
                    .epoch_offset = static_cast<int64_t>(random() % 3) - 1,
                    .expire = {.lowest_live = random(), .announced = random()}};
  for (uint64_t n = random() % 5; n > 0; --n) {
    LogProgress progress{.topic = random_text(random),
                         .partition = static_cast<int32_t>(random() % 100),
                         .next = static_cast<int64_t>(random() >> 1),
                         .incarnation = 1 + static_cast<uint32_t>(random() % 3),
                         .last_ms = static_cast<int64_t>(random()),
                         .highest_ms = static_cast<int64_t>(random())};
    out.progress.emplace(std::pair(progress.topic, progress.partition), progress);
  }
  if (random() % 2 == 0) out.cut = {.generation = "g" + random_text(random), .cut = random()};
  if (random() % 2 == 0) out.owner = "o" + random_text(random);
  return out;
}

void same(const KafkaPosition& a, const KafkaPosition& b) {
  RC_ASSERT(a.cluster == b.cluster && a.index_log == b.index_log && a.log_offset == b.log_offset);
  RC_ASSERT(a.covered_ms == b.covered_ms && a.epoch_offset == b.epoch_offset);
  RC_ASSERT(a.expire.lowest_live == b.expire.lowest_live && a.expire.announced == b.expire.announced);
  RC_ASSERT(a.cut.generation == b.cut.generation && a.cut.cut == b.cut.cut && a.owner == b.owner);
  RC_ASSERT(a.progress.size() == b.progress.size());
  const std::vector<LogProgress> of_a = a.progress_list(), of_b = b.progress_list();
  for (size_t i = 0; i < of_a.size(); ++i) {
    RC_ASSERT(of_a[i].topic == of_b[i].topic && of_a[i].partition == of_b[i].partition);
    RC_ASSERT(of_a[i].next == of_b[i].next && of_a[i].incarnation == of_b[i].incarnation);
    RC_ASSERT(of_a[i].last_ms == of_b[i].last_ms && of_a[i].highest_ms == of_b[i].highest_ms);
  }
}

RC_GTEST_PROP(KafkaPosition, IsReadAsItWasWritten, (uint64_t seed)) {
  std::mt19937_64 random(seed);
  const KafkaPosition position = random_position(random);
  const std::string bytes = encode_position(position);
  RC_ASSERT(is_kafka_position(bytes));
  const auto read = decode_position(bytes);
  RC_ASSERT(read.ok());
  same(*read, position);
  RC_ASSERT(!decode_position(bytes + "x").ok());
  for (size_t length = 0; length < bytes.size(); ++length)
    RC_ASSERT(!decode_position(bytes.substr(0, length)).ok());
}

// Version 1 does not know the offset of the epoch, which is the varint before the number of partitions.
TEST(KafkaPosition, TheFirstVersion) {
  KafkaPosition position{.cluster = "c", .index_log = "l", .log_offset = 5, .expire = {.lowest_live = 3}};
  position.progress[{"t", 0}] = {.topic = "t", .next = 9, .last_ms = 4, .highest_ms = 6};
  std::string bytes = encode_position(position);
  ASSERT_EQ(bytes.substr(0, 4), "DKP\x02");
  std::string head = "DKP\x01";
  put_string(head, "c");
  put_string(head, "l");
  for (const uint64_t number : {5, 0, 3, 0}) put_varint(head, number);
  ASSERT_EQ(bytes.substr(4, head.size() - 4), head.substr(4));
  const auto read = decode_position(head + bytes.substr(head.size() + 1));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->epoch_offset, -1);
  EXPECT_EQ(read->log_offset, 5);
  EXPECT_EQ(read->progress.at({"t", 0}).next, 9);
}

TEST(KafkaPosition, OtherPositionsAndNewerVersions) {
  EXPECT_FALSE(is_kafka_position("DFP\x01"));
  EXPECT_EQ(decode_position("DFP\x01").status().code(), absl::StatusCode::kFailedPrecondition);
  const absl::Status newer = decode_position("DKP\x05rest").status();
  EXPECT_EQ(newer.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(newer.message().find("newer version"), std::string::npos);
}

}  // namespace
}  // namespace doppel::kafka
