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
                         .highest_ms = static_cast<int64_t>(random()),
                         .moved = static_cast<uint32_t>(random() % 3),
                         .topic_id = random_text(random),
                         .written_ms = static_cast<int64_t>(random())};
    for (uint64_t k = random() % 4; k > 0; --k)
      add_sample(progress.samples, {.offset = progress.next - static_cast<int64_t>(k * k),
                                    .timestamp_ms = static_cast<int64_t>(random()),
                                    .checksum = static_cast<uint32_t>(random())});
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
    RC_ASSERT(of_a[i].moved == of_b[i].moved && of_a[i].topic_id == of_b[i].topic_id);
    RC_ASSERT(of_a[i].written_ms == of_b[i].written_ms && of_a[i].samples == of_b[i].samples);
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

// Version 1 does not know the offset of the epoch, which is the varint before the number of partitions. 3 has
// a cut at the end, and 4 an owner behind it.
TEST(KafkaPosition, EarlierVersions) {
  for (char version = 1; version <= 4; ++version) {
    std::string bytes = std::string("DKP") + version;
    put_string(bytes, "c");
    put_string(bytes, "l");
    for (const uint64_t number : {5, 0, 3, 0}) put_varint(bytes, number);
    if (version > 1) put_varint(bytes, 8);
    put_varint(bytes, 1);  // partition
    put_string(bytes, "t");
    for (const uint64_t number : {2, 9}) put_varint(bytes, number);
    put_fixed<int32_t>(bytes, -1);
    for (const int64_t time : {4, 6}) put_fixed<int64_t>(bytes, time);
    if (version > 2) put_string(bytes, "g");
    if (version > 2) put_varint(bytes, 77);
    if (version > 3) put_string(bytes, "o");
    const auto read = decode_position(bytes);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->epoch_offset, version > 1 ? 7 : -1);
    EXPECT_EQ(read->log_offset, 5);
    EXPECT_EQ(read->cut.cut, version > 2 ? 77U : 0);
    EXPECT_EQ(read->owner, version > 3 ? "o" : "");
    const LogProgress& progress = read->progress.at({"t", 2});
    EXPECT_EQ(progress.next, 9);
    EXPECT_EQ(progress.highest_ms, 6);
    EXPECT_EQ(progress.written_ms, 0);
    EXPECT_TRUE(progress.samples.empty());
  }
}

// Any record that was read lies behind a sample, and not much: that is how far a reader must go back at most.
RC_GTEST_PROP(AddSample, KeepsFewThatAreNear, (uint64_t seed)) {
  std::mt19937_64 random(seed);
  std::vector<LogProgress::Sample> samples;
  int64_t last = -1;
  for (int n = 0; n < 300; ++n) {
    last += 1 + static_cast<int64_t>(random() % 50);
    add_sample(samples, {.offset = last, .timestamp_ms = n});
    RC_ASSERT(samples.back().offset == last && samples.size() <= 10);
    for (size_t i = 1; i < samples.size(); ++i) {
      const int64_t newer = last - samples[i].offset, older = last - samples[i - 1].offset;
      RC_ASSERT(older > newer && older <= 16 * newer + 64 * 50);
    }
  }
}

TEST(KafkaPosition, OtherPositionsAndNewerVersions) {
  EXPECT_FALSE(is_kafka_position("DFP\x01"));
  EXPECT_EQ(decode_position("DFP\x01").status().code(), absl::StatusCode::kFailedPrecondition);
  const absl::Status newer = decode_position("DKP\x06rest").status();
  EXPECT_EQ(newer.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(newer.message().find("newer version"), std::string::npos);
}

}  // namespace
}  // namespace doppel::kafka
