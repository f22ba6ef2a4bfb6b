// The records of the index log: parsing returns what was written, and refuses everything else.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "state/index_log.h"

namespace doppel {
namespace {

struct Bytes {
  std::string key, value;
};

Bytes split(const std::string& out, const LogPlace& place) {
  return {out.substr(place.key, place.value - place.key), out.substr(place.value, place.end - place.value)};
}

// Each record is written behind other bytes, as in a batch.
template <typename Record>
Bytes written(LogPlace (*put)(std::string&, const Record&), const Record& record) {
  std::string out = "before";
  const LogPlace place = put(out, record);
  EXPECT_EQ(place.end, out.size());
  return split(out, place);
}

template <typename Record>
Record read(const Bytes& bytes) {
  const absl::StatusOr<LogRecord> record = parse_log_record(bytes.key, bytes.value, true);
  if (!record.ok() || !std::holds_alternative<Record>(*record)) {
    ADD_FAILURE() << record.status();
    return {};
  }
  return std::get<Record>(*record);
}

template <typename Record>
Record read_null(const std::string& key) {
  const absl::StatusOr<LogRecord> record = parse_log_record(key, {}, false);
  if (!record.ok() || !std::holds_alternative<Record>(*record)) {
    ADD_FAILURE() << key << ": " << record.status();
    return {};
  }
  return std::get<Record>(*record);
}

std::string random_text(std::mt19937_64& random) {
  std::string out(random() % 3 == 0 ? 0 : random() % 200, '\0');
  for (char& c : out) c = static_cast<char>(random());
  return out;
}

RC_GTEST_PROP(IndexLog, AnOriginalIsReadAsItWasWritten, (uint64_t seed)) {
  std::mt19937_64 random(seed);
  const int num_perm = 8 + static_cast<int>(random() % 200), mask_words = 1 + static_cast<int>(random() % 4);
  std::vector<uint8_t> slices(num_perm);
  for (uint8_t& slice : slices) slice = static_cast<uint8_t>(random());
  std::vector<uint32_t> mask(mask_words);
  for (uint32_t& word : mask) word = static_cast<uint32_t>(random());
  const std::string metadata = random_text(random), coded_set = random_text(random);
  StoredRow stored{.seq = random() >> random() % 64, .trusted_ms = static_cast<int64_t>(random())};
  if (random() % 2 == 0) stored.row.slices = slices.data();
  if (random() % 2 == 0) stored.row.mask = mask.data();
  stored.row.digest = {random(), random()};
  stored.row.id_tag = random();
  if (random() % 2 == 0) stored.row.payload = static_cast<uint32_t>(random() % (1 << kPayloadBits));
  std::string out = random_text(random);
  const uint64_t scheme = random();
  const Bytes bytes =
      split(out, put_log_row(out, stored, num_perm, mask_words, scheme, {metadata, coded_set}));

  const LogRow row = read<LogRow>(bytes);
  RC_ASSERT(row.seq == stored.seq && row.scheme == scheme && row.digest == stored.row.digest);
  RC_ASSERT(row.id_tag == stored.row.id_tag && row.payload == stored.row.payload);
  RC_ASSERT(row.trusted_ms == stored.trusted_ms);
  RC_ASSERT(row.body.metadata == metadata && row.body.coded_set == coded_set);
  RC_ASSERT(row.slices.size() == (stored.row.slices != nullptr ? slices.size() : 0));
  RC_ASSERT(std::equal(row.slices.begin(), row.slices.end(), slices.begin(),
                       [](char a, uint8_t b) { return static_cast<uint8_t>(a) == b; }));
  RC_ASSERT(row.mask.size() == (stored.row.mask != nullptr ? mask.size() : 0));
  RC_ASSERT(std::equal(row.mask.begin(), row.mask.end(), mask.begin()));

  // One wrong byte, in the key or in the value, or a cut.
  Bytes damaged = bytes;
  std::string& part = random() % 4 == 0 ? damaged.key : damaged.value;
  part[random() % part.size()] ^= static_cast<char>(1 << random() % 8);
  RC_ASSERT(!parse_log_record(damaged.key, damaged.value, true).ok());
  RC_ASSERT(!parse_log_record(bytes.key, bytes.value.substr(0, random() % bytes.value.size()), true).ok());
}

TEST(IndexLog, OtherRecordsAreReadAsTheyWereWritten) {
  const auto removed = read<LogRemoved>(written<LogRemoved>(put_log_removed, {7, -5}));
  EXPECT_EQ(removed.seq, 7U);
  EXPECT_EQ(removed.trusted_ms, -5);
  const auto expire = read<LogExpire>(written<LogExpire>(put_log_expire, {300, 200, "clock"}));
  EXPECT_EQ(expire.lowest_live, 300U);
  EXPECT_EQ(expire.announced, 200U);
  EXPECT_EQ(expire.clock, "clock");
  const auto missing = read<LogMissing>(written<LogMissing>(put_log_missing, {"a.b", 3, 400, "why"}));
  EXPECT_EQ(missing.topic, "a.b");
  EXPECT_EQ(missing.partition, 3);
  EXPECT_EQ(missing.offset, 400);
  EXPECT_EQ(missing.reason, "why");
  EXPECT_EQ(read<LogRule>(written<LogRule>(put_log_rule, {"r=1\n"})).rule, "r=1\n");
  EXPECT_EQ(read<LogOwner>(written<LogOwner>(put_log_owner, {"me"})).owner, "me");
  const LogOwner with = read<LogOwner>(written<LogOwner>(put_log_owner, {"me", "a=b"}));
  EXPECT_EQ(with.owner + " " + with.settings, "me a=b");
  const auto cut = read<LogCut>(written<LogCut>(put_log_cut, {"g", 300}));
  EXPECT_EQ(cut.generation, "g");
  EXPECT_EQ(cut.cut, 300U);
  EXPECT_EQ(read<LogBatch>(written<LogBatch>(put_log_batch, {1000})).records, 1000U);
  LogEpoch epoch{.cluster = "c",
                 .data_scheme = "s=1\n",
                 .num_perm = 128,
                 .mask_words = 2,
                 .complete = false,
                 .rebuilt_from = "documents"};
  for (size_t i = 0; i < epoch.epoch.size(); ++i) epoch.epoch[i] = static_cast<uint8_t>(i + 1);
  auto of_epoch = read<LogEpoch>(written(put_log_epoch, epoch));
  EXPECT_EQ(of_epoch.epoch, epoch.epoch);
  EXPECT_EQ(of_epoch.cluster, "c");
  EXPECT_EQ(of_epoch.data_scheme, "s=1\n");
  EXPECT_EQ(of_epoch.num_perm, 128U);
  EXPECT_EQ(of_epoch.mask_words, 2U);
  EXPECT_FALSE(of_epoch.complete);
  EXPECT_EQ(of_epoch.rebuilt_from, "documents");
  epoch.complete = true;
  EXPECT_TRUE(read<LogEpoch>(written(put_log_epoch, epoch)).complete);
}

TEST(IndexLog, TheProgressOfAPartition) {
  for (const uint32_t incarnation : {1U, 2U, 300U}) {
    const LogProgress progress{.topic = "a.b",
                               .partition = 12,
                               .next = 500,
                               .incarnation = incarnation,
                               .last_ms = 7,
                               .highest_ms = 9,
                               .moved = incarnation / 2,
                               .topic_id = "new",
                               .former_id = incarnation == 1 ? "" : "old",
                               .written_ms = 11,
                               .samples = {{0, -1, 5}, {499, 7, ~0U}}};
    const auto is = read<LogProgress>(written(put_log_progress, progress));
    EXPECT_EQ(is.topic, "a.b");
    EXPECT_EQ(is.partition, 12);
    EXPECT_EQ(is.next, 500);
    EXPECT_EQ(is.incarnation, incarnation);
    EXPECT_EQ(is.last_ms, 7);
    EXPECT_EQ(is.highest_ms, 9);
    EXPECT_EQ(is.moved, incarnation / 2);
    EXPECT_EQ(is.topic_id, "new");
    EXPECT_EQ(is.former_id, progress.former_id);
    EXPECT_EQ(is.written_ms, 11);
    EXPECT_EQ(is.samples, progress.samples);
    EXPECT_FALSE(is.forgotten);
  }
  EXPECT_EQ(stored_incarnation(1), -1);  // as earlier versions stored it
  EXPECT_EQ(incarnation_of(-1), 1U);
  EXPECT_EQ(incarnation_of(0), 1U);
  const Bytes forgotten =
      written<LogProgress>(put_log_progress, {.topic = "a", .partition = 0, .forgotten = true});
  EXPECT_EQ(forgotten.value, "");
  const auto is = read_null<LogProgress>(forgotten.key);
  EXPECT_EQ(is.topic, "a");
  EXPECT_EQ(is.partition, 0);
  EXPECT_TRUE(is.forgotten);
}

// Keys of every length: one of eight bytes is not the number of an original.
TEST(IndexLog, WhatAClusterShows) {
  for (const Seq seq : {Seq{0}, Seq{9}, Seq{10}, Seq{99}, Seq{100}, Seq{1} << 60}) {
    const auto shown = read<LogShown>(written<LogShown>(put_log_shown, {seq, "a copy"}));
    EXPECT_EQ(shown.seq, seq);
    EXPECT_EQ(shown.copy, "a copy");
    const Bytes none = written<LogShown>(put_log_shown, {seq, ""});
    EXPECT_EQ(none.value, "");
    const auto gone = read_null<LogShown>(none.key);
    EXPECT_EQ(gone.seq, seq);
    EXPECT_EQ(gone.copy, "");
  }
}

TEST(IndexLog, ANumberWithoutAValue) {
  for (const Seq seq : {Seq{0}, Seq{1}, Seq{0x0102030405060708}}) {
    std::string key;
    put_log_key(key, seq);
    EXPECT_EQ(read_null<LogDropped>(key).seq, seq);
  }
  std::string key;
  put_log_key(key, 1);
  EXPECT_EQ(key, std::string("\0\0\0\0\0\0\0\1", 8));  // big endian: in the order of numbers
}

// Records that are whole, but that no version of doppel writes.
TEST(IndexLog, ForeignRecordsAreRefused) {
  const auto error = [](const std::string& key, const std::string& value, bool has_value = true) {
    const auto record = parse_log_record(key, value, has_value);
    return record.ok() ? std::string() : std::string(record.status().message());
  };
  for (const char* key : {"expire", "rule", "", "progress/", "progress/a", "progress/a/x", "progress/a/-1",
                          "progress//1", "shown/", "shown/x", "shown/1x", "missing/a/1/2"})
    EXPECT_NE(error(key, "", false).find("has no value"), std::string::npos) << key;
  EXPECT_NE(error("rule", "U123").find("too short"), std::string::npos);

  // The checksum covers the key, so these are made with a wrong key.
  const auto put_as = [](const std::string& topic) {
    return written<LogMissing>(put_log_missing, {topic, 1, 2, "why"});
  };
  EXPECT_EQ(error(put_as("a").key, put_as("a").value), "");
  EXPECT_NE(error(put_as("").key, put_as("").value).find("names no record"), std::string::npos);
  const Bytes progress = written<LogProgress>(put_log_progress, {.topic = "", .partition = 1});
  EXPECT_NE(error(progress.key, progress.value).find("names no partition"), std::string::npos);
  const Bytes negative = written<LogProgress>(put_log_progress, {.topic = "a", .partition = -1});
  EXPECT_NE(error(negative.key, negative.value).find("names no partition"), std::string::npos);
}

}  // namespace

// The position of a snapshot in its index log: all versions are read, damage and newer versions are refused.

namespace kafka {
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
  if (random() % 2 == 0) out.owner_settings = "a=" + random_text(random);
  return out;
}

void same(const KafkaPosition& a, const KafkaPosition& b) {
  RC_ASSERT(a.cluster == b.cluster && a.index_log == b.index_log && a.log_offset == b.log_offset);
  RC_ASSERT(a.covered_ms == b.covered_ms && a.epoch_offset == b.epoch_offset);
  RC_ASSERT(a.expire.lowest_live == b.expire.lowest_live && a.expire.announced == b.expire.announced);
  RC_ASSERT(a.cut.generation == b.cut.generation && a.cut.cut == b.cut.cut && a.owner == b.owner);
  RC_ASSERT(a.owner_settings == b.owner_settings);
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
// a cut at the end, and 4 an owner behind it. 5 has progress as in the index log.
TEST(KafkaPosition, EarlierVersions) {
  for (char version = 1; version <= 5; ++version) {
    std::string bytes = std::string("DKP") + version;
    put_string(bytes, "c");
    put_string(bytes, "l");
    for (const uint64_t number : {5, 0, 3, 0}) put_varint(bytes, number);
    if (version > 1) put_varint(bytes, 8);
    put_varint(bytes, 1);  // partition
    put_string(bytes, "t");
    put_varint(bytes, 2);
    if (version > 4) {
      put_progress(bytes, {.next = 9, .last_ms = 4, .highest_ms = 6});
    } else {
      put_varint(bytes, 9);
      put_fixed<int32_t>(bytes, -1);
      for (const int64_t time : {4, 6}) put_fixed<int64_t>(bytes, time);
    }
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
      RC_ASSERT(older > newer && older <= 16 * newer + 50);
    }
  }
}

TEST(KafkaPosition, OtherPositionsAndNewerVersions) {
  EXPECT_FALSE(is_kafka_position("DFP\x01"));
  EXPECT_EQ(decode_position("DFP\x01").status().code(), absl::StatusCode::kFailedPrecondition);
  const absl::Status newer = decode_position("DKP\x07rest").status();
  EXPECT_EQ(newer.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(newer.message().find("newer version"), std::string::npos);
}

}  // namespace

}  // namespace kafka
}  // namespace doppel
