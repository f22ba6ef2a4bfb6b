// A rebuild reads all partitions as one list: the head with the least time is next.
#include "kafka/merge_source.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "kafka/unit/topics_cluster.h"

namespace doppel::kafka_test {
namespace {

using kafka::Bounds;
using kafka::Incoming;
using kafka::TopicPartition;

struct Stored {
  int64_t offset = 0, timestamp_ms = 0;
  std::string value;
};
struct Log {
  TopicPartition place;
  std::vector<Stored> records;  // markers and deleted records leave gaps between offsets
  int64_t end = 0;
};

// Hands over some records at a time. Now and then the broker is away.
class LogsConsumer final : public kafka::Consumer {
 public:
  LogsConsumer(const std::vector<Log>& logs, uint64_t seed, int64_t& held)
      : logs_(logs), random_(seed), held_(held) {}

  absl::Status assign(const std::vector<Assignment>& more) override {
    assigned_ = more;
    return absl::OkStatus();
  }
  absl::Status poll(size_t max, int /*wait_ms*/, std::vector<Incoming>& out,
                    std::optional<uint32_t> tag) override {
    if (random_() % 4 == 0) return absl::UnavailableError("away");
    const auto at = std::find_if(assigned_.begin(), assigned_.end(),
                                 [&](const Assignment& a) { return a.tag == tag.value(); });
    if (at == assigned_.end()) return absl::InternalError("this partition is not assigned");
    const auto log =
        std::find_if(logs_.begin(), logs_.end(), [&](const Log& l) { return l.place == at->place; });
    size_t wanted = std::min<size_t>(max, 1 + random_() % 5);
    for (const Stored& stored : log->records) {
      if (stored.offset < at->from) continue;
      if (wanted-- == 0) return absl::OkStatus();
      out.push_back({.tag = at->tag,
                     .offset = stored.offset,
                     .timestamp_ms = stored.timestamp_ms,
                     .key = {},
                     .value = stored.value});
      ++held_;
      at->from = stored.offset + 1;
    }
    out.push_back({.tag = at->tag, .end = true, .offset = log->end, .key = {}, .value = {}});
    ++held_;
    return absl::OkStatus();
  }
  void release(std::span<const Incoming> records) override { held_ -= static_cast<int64_t>(records.size()); }
  void headers(const Incoming&, std::vector<Header>&) override {}
  void unassign() override {}
  int64_t known_end(const TopicPartition&) override { return -1; }
  absl::StatusOr<std::vector<kafka::GroupOffset>> group_offsets(const std::vector<TopicPartition>&,
                                                                int) override {
    return absl::UnimplementedError("");
  }
  void move_group(const std::vector<std::pair<TopicPartition, kafka::GroupOffset>>&) override {}

 private:
  const std::vector<Log>& logs_;
  std::mt19937_64 random_;
  int64_t& held_;
  std::vector<Assignment> assigned_;
};

class LogsCluster final : public TopicsCluster {
 public:
  LogsCluster(const std::vector<Log>& logs, uint64_t seed) : logs_(logs), seed_(seed) {}
  absl::StatusOr<std::unique_ptr<kafka::Consumer>> consumer(const kafka::ConsumerOptions&) override {
    return std::make_unique<LogsConsumer>(logs_, seed_, held);
  }
  int64_t held = 0;  // records that were not returned

 private:
  const std::vector<Log>& logs_;
  uint64_t seed_;
};

using Read = std::tuple<std::string, int32_t, int64_t, std::string>;

// Looks at all heads for each record.
std::vector<Read> slow_merge(const std::vector<Log>& logs, const std::vector<Bounds>& bounds,
                             const std::vector<LogProgress>& progress) {
  std::vector<std::vector<Stored>> left;
  for (size_t i = 0; i < logs.size(); ++i) {
    int64_t begin = bounds[i].begin;
    for (const LogProgress& p : progress)
      if (p.topic == bounds[i].topic && p.partition == bounds[i].partition) begin = std::max(begin, p.next);
    auto& mine = left.emplace_back();
    for (const Stored& r : logs[i].records)
      if (r.offset >= begin && r.offset < bounds[i].end) mine.push_back(r);
  }
  std::vector<Read> out;
  while (true) {
    std::vector<std::tuple<int64_t, std::string, int32_t, size_t>> heads;
    for (size_t i = 0; i < logs.size(); ++i)
      if (!left[i].empty())
        heads.emplace_back(left[i][0].timestamp_ms, bounds[i].topic, bounds[i].partition, i);
    if (heads.empty()) return out;
    const size_t i = std::get<3>(*std::min_element(heads.begin(), heads.end()));
    out.emplace_back(bounds[i].topic, bounds[i].partition, left[i][0].offset, left[i][0].value);
    left[i].erase(left[i].begin());
  }
}

TEST(MergeSource, ReadsWhatTheSlowMergeReads) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 300; ++round) {
    std::vector<Log> logs;
    std::vector<Bounds> bounds;
    std::vector<LogProgress> progress;
    for (int32_t n = 0; n < static_cast<int32_t>(1 + random() % 5); ++n) {
      Log& log = logs.emplace_back();
      log.place = {random() % 2 == 0 ? "a" : "b", n};
      for (size_t records = random() % 30; records > 0; --records) {
        log.end += static_cast<int64_t>(random() % 3);
        log.records.push_back({log.end, static_cast<int64_t>(random() % 20), std::string(random() % 9, 'x')});
        ++log.end;
      }
      log.end += static_cast<int64_t>(random() % 3);
      const auto begin = static_cast<int64_t>(random() % static_cast<uint64_t>(log.end + 1));
      const auto end = begin + static_cast<int64_t>(random() % static_cast<uint64_t>(log.end - begin + 1));
      bounds.push_back(
          {log.place.topic, n, random() % 2 == 0 ? 0 : begin, random() % 2 == 0 ? log.end : end});
      if (random() % 3 == 0)
        progress.push_back(
            {.topic = log.place.topic, .partition = n, .next = static_cast<int64_t>(random() % 40)});
    }
    LogsCluster cluster(logs, random());
    const kafka::MergeOptions options{.batch_records = 1 + random() % 20, .batch_bytes = 1 + random() % 60};
    std::vector<Read> read;
    {
      auto source = kafka::MergeSource::open(cluster, options, bounds, progress);
      ASSERT_TRUE(source.ok()) << source.status();
      Batch batch;
      while (true) {
        const absl::StatusOr<bool> more = (*source)->next(batch);
        ASSERT_TRUE(more.ok()) << more.status();
        if (!*more) break;
        size_t bytes = 0;
        EXPECT_LE(batch.records.size(), options.batch_records);
        for (const Record& r : batch.records) {
          EXPECT_LT(bytes, options.batch_bytes);
          bytes += r.value.size();
          read.emplace_back(std::string(r.source), r.partition, static_cast<int64_t>(r.offset),
                            std::string(r.value));
        }
      }
    }
    EXPECT_EQ(cluster.held, 0);
    ASSERT_EQ(read, slow_merge(logs, bounds, progress)) << "round " << round;
  }
}

// A rebuild that is stopped ends without an error, and returns the records that it holds.
TEST(MergeSource, StopsBetweenRecords) {
  const std::vector<Log> logs = {{.place = {"a", 0}, .records = {{0, 1, "x"}, {1, 1, "y"}}, .end = 2}};
  LogsCluster cluster(logs, 1);
  {
    auto source = kafka::MergeSource::open(cluster, {.stop = [] { return true; }}, {{"a", 0, 0, 2}}, {});
    ASSERT_TRUE(source.ok());
    Batch batch;
    EXPECT_FALSE((*source)->next(batch).value());
  }
  EXPECT_EQ(cluster.held, 0);
}

}  // namespace
}  // namespace doppel::kafka_test
