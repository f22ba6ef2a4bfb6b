// The batches of a source on a Kafka in memory: each record once, in the order of its partition.
#include "kafka/source.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kafka/unit/simulated.h"

namespace doppel::kafka_test {
namespace {

using kafka::KafkaSource;
using kafka::KafkaSourceOptions;

std::string name_of(int32_t partition, uint64_t offset, const std::optional<std::string_view>& key,
                    bool null_value, std::string_view value) {
  return fmt::format("{}/{} {} {}", partition, offset, key.value_or("no key"), null_value ? "null" : value);
}

// Until nothing comes any more.
std::vector<std::vector<std::string>> all_batches(KafkaSource& source, size_t most) {
  std::vector<std::vector<std::string>> out;
  size_t records = 0;
  for (int nothing = 0; nothing < 50;) {
    Batch batch;
    const auto more = source.next(batch);
    EXPECT_TRUE(more.ok()) << more.status();
    if (!more.ok()) return out;
    nothing = batch.records.empty() ? nothing + 1 : 0;
    if (batch.records.empty()) continue;
    auto& names = out.emplace_back();
    for (const Record& r : batch.records)
      names.push_back(name_of(r.partition, r.offset, r.key, r.null_value, r.value));
    records += batch.records.size();
    if (records > most) return out;
  }
  return out;
}

// Records without a byte count, too: a topic may hold nothing else.
TEST(KafkaSource, ReadsEmptyRecords) {
  Simulated kafka(1);
  kafka.topic("pages", 1);
  simulation::StoredRecord empty;
  empty.value = "";
  for (int i = 0; i < 30; ++i) kafka.world.broker.append({"pages", 0}, empty);
  empty.value.reset();
  kafka.world.broker.append({"pages", 0}, empty);
  const auto source = KafkaSource::open(kafka.process(), source_options(), {});
  ASSERT_TRUE(source.ok()) << source.status();
  const auto batches = all_batches(**source, 31);
  size_t records = 0;
  for (const auto& batch : batches) records += batch.size();
  EXPECT_EQ(records, 31u);
  EXPECT_LE(batches.size(), 3u);  // not a transaction for each
}

TEST(KafkaSource, ReadsEachRecordOnceInBatchesOfTheSizeThatIsSet) {
  const auto base = std::random_device()();
  for (uint64_t round = 0; round < 100; ++round) {
    SCOPED_TRACE(fmt::format("seed {}, round {}", base, round));
    std::mt19937_64 random(base + round);
    Simulated kafka(random());
    const auto partitions = static_cast<int32_t>(1 + random() % 3);
    kafka.topic("pages", static_cast<size_t>(partitions));
    std::map<int32_t, std::vector<std::string>> expected;
    size_t all = 0;
    for (uint64_t n = random() % 300; n > 0; --n, ++all) {
      simulation::StoredRecord record;
      record.timestamp_ms = 1'600'000'000'000;
      if (random() % 3 == 0) record.key = std::string(random() % 4, 'k');
      if (random() % 4 != 0) record.value = std::string(random() % 3 == 0 ? random() % 200 : 0, 'x');
      const auto partition = static_cast<int32_t>(random() % static_cast<uint64_t>(partitions));
      expected[partition].push_back(name_of(partition, expected[partition].size(), record.key, !record.value,
                                            record.value.value_or("")));
      kafka.world.broker.append({"pages", partition}, record);
    }
    KafkaSourceOptions options = source_options();
    options.batch_records = 1 + random() % 20;
    options.batch_bytes = 1 + random() % 2'000;
    const auto source = KafkaSource::open(kafka.process(), options, {});
    ASSERT_TRUE(source.ok()) << source.status();
    std::map<int32_t, std::vector<std::string>> read;
    for (const auto& batch : all_batches(**source, all)) {
      EXPECT_LE(batch.size(), options.batch_records);
      EXPECT_TRUE(std::is_sorted(batch.begin(), batch.end(), [](const auto& a, const auto& b) {
        return std::stoi(a) < std::stoi(b);  // by partition
      }));
      for (const std::string& name : batch) read[std::stoi(name)].push_back(name);
    }
    EXPECT_EQ(read, expected);
  }
}

}  // namespace
}  // namespace doppel::kafka_test
