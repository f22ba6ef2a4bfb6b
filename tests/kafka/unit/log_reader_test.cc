// Reading a partition up to an end: against a consumer that hands over records and ends as it likes.
#include "kafka/log_reader.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "kafka/unit/simulated.h"
#include "kafka/unit/topics_cluster.h"

namespace doppel::kafka_test {
namespace {

using kafka::LogMessage;
using kafka::LogReader;

struct Said {
  int64_t offset = 0;
  std::string key, value;
};

// `polls` are the answers, each with records and ends (an empty key and value).
class ScriptedConsumer final : public kafka::Consumer {
 public:
  using Polls = std::vector<std::pair<absl::Status, std::vector<Said>>>;
  ScriptedConsumer(const Polls& polls, int& held) : polls_(polls), held_(held) {}

  absl::Status assign(const std::vector<Assignment>& more) override {
    assigned = !more.empty();
    return absl::OkStatus();
  }
  absl::Status poll(size_t, int wait_ms, std::vector<kafka::Incoming>& out,
                    std::optional<uint32_t>) override {
    EXPECT_TRUE(assigned);
    if (at_ == polls_.size()) {
      Clock::sleep(std::chrono::milliseconds(wait_ms));
      return absl::OkStatus();
    }
    for (const Said& r : polls_[at_].second) {
      kafka::Incoming& record = out.emplace_back();
      record.offset = r.offset;
      record.end = r.value.empty();
      record.key = r.key;
      record.value = r.value;
      ++held_;
    }
    return polls_[at_++].first;
  }
  void unassign() override { assigned = false; }
  void headers(const kafka::Incoming&, std::vector<Header>& out) override { out.push_back({"h", "v"}); }
  void release(std::span<const kafka::Incoming> records) override {
    held_ -= static_cast<int>(records.size());
  }
  int64_t known_end(const kafka::TopicPartition&) override { return -1; }
  absl::StatusOr<std::vector<kafka::GroupOffset>> group_offsets(const std::vector<kafka::TopicPartition>&,
                                                                int) override {
    return absl::UnimplementedError("");
  }
  void move_group(const std::vector<std::pair<kafka::TopicPartition, kafka::GroupOffset>>&) override {}

  bool assigned = false;

 private:
  const Polls& polls_;
  int& held_;
  size_t at_ = 0;
};

class ScriptedCluster final : public TopicsCluster {
 public:
  explicit ScriptedCluster(ScriptedConsumer::Polls polls) : polls_(std::move(polls)) {}
  absl::StatusOr<std::unique_ptr<kafka::Consumer>> consumer(const kafka::ConsumerOptions& options) override {
    EXPECT_TRUE(options.ends);
    return std::make_unique<ScriptedConsumer>(polls_, held);
  }
  int held = 0;  // records that nobody returned

 private:
  const ScriptedConsumer::Polls polls_;
};

struct Visited {
  absl::Status status;
  std::vector<std::string> records;
};
Visited read(ScriptedCluster& cluster, int64_t from, int64_t to, bool with_headers = false) {
  Visited out;
  auto reader = LogReader::open(cluster, {"log", 0});
  out.status = reader->read(
      from, to,
      [&](const LogMessage& m) {
        std::string& line = out.records.emplace_back(fmt::format("{} {} {}", m.offset, m.key, m.value));
        for (const Header& h : m.headers) line += fmt::format(" {}={}", h.name, h.value.value_or("null"));
        return m.value == "stop" ? absl::CancelledError("enough") : absl::OkStatus();
      },
      with_headers);
  EXPECT_EQ(cluster.held, 0);
  return out;
}

TEST(LogReader, VisitsAllRecordsBeforeTheEnd) {
  const Simulated time(1);
  const auto seed = std::random_device()();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 500; ++round) {
    const auto to = static_cast<int64_t>(1 + random() % 30);
    ScriptedConsumer::Polls polls(1);
    std::vector<std::string> expected;
    const auto now_and_then = [&] {
      if (random() % 4 == 0) polls.emplace_back();
      if (random() % 9 == 0) polls.back().first = absl::UnavailableError("away");
    };
    // Offsets have gaps, and the consumer may say at any offset that the partition ends there.
    for (int64_t offset = 0; offset < to; ++offset) {
      if (random() % 3 == 0) {
        polls.back().second.push_back({offset, "k", fmt::format("v{}", offset)});
        expected.push_back(fmt::format("{0} k v{0}", offset));
      }
      now_and_then();
      if (random() % 5 == 0) polls.back().second.push_back({offset, "", ""});
      now_and_then();
    }
    // What ends the reading: the last record, a later one, or the end.
    if (random() % 2 == 0) {
      polls.back().second.push_back({to, "", ""});
    } else {
      polls.back().second.push_back({to + static_cast<int64_t>(random() % 3), "k", "later"});
      polls.back().second.push_back({to + 9, "k", "later still"});
    }
    ScriptedCluster cluster(polls);
    const Visited visited = read(cluster, 0, to);
    EXPECT_TRUE(visited.status.ok()) << visited.status;
    EXPECT_EQ(visited.records, expected);
  }
}

TEST(LogReader, ReadsNothingBeforeItsBeginning) {
  ScriptedCluster cluster({});
  EXPECT_TRUE(read(cluster, 5, 5).status.ok());
  EXPECT_TRUE(read(cluster, 6, 5).status.ok());
}

TEST(LogReader, ReadsHeadersIfTheyAreWanted) {
  ScriptedCluster cluster({{absl::OkStatus(), {{0, "k", "a"}, {1, "k", "b"}}}});
  EXPECT_THAT(read(cluster, 0, 2, true).records, ::testing::ElementsAre("0 k a h=v", "1 k b h=v"));
}

TEST(LogReader, AnErrorOfTheVisitorEndsIt) {
  ScriptedCluster cluster({{absl::OkStatus(), {{0, "k", "a"}, {1, "k", "stop"}, {2, "k", "b"}}}});
  const Visited visited = read(cluster, 0, 9);
  EXPECT_TRUE(absl::IsCancelled(visited.status));
  EXPECT_EQ(visited.records.size(), 2u);
}

TEST(LogReader, ASilentPartitionIsAnErrorAfterAMinute) {
  const Simulated time(1);
  ScriptedCluster cluster({{absl::OkStatus(), {{4, "k", "a"}}}});
  const auto before = Clock::now();
  const Visited visited = read(cluster, 3, 9);
  EXPECT_TRUE(absl::IsUnavailable(visited.status)) << visited.status;
  EXPECT_EQ(std::string(visited.status.message()), "log/0: no record for 60 s, with 4 left to read");
  EXPECT_GE(Clock::now() - before, std::chrono::seconds(60));
  EXPECT_LE(Clock::now() - before, std::chrono::seconds(61));
}

TEST(LogReader, AnOffsetThatDoesNotExistIsNamed) {
  ScriptedCluster cluster({{absl::OkStatus(), {{4, "k", "a"}}}, {absl::OutOfRangeError("gone"), {}}});
  const Visited visited = read(cluster, 3, 9);
  EXPECT_TRUE(absl::IsOutOfRange(visited.status)) << visited.status;
  EXPECT_EQ(std::string(visited.status.message()), "log/0 holds nothing at offset 5: gone");
}

}  // namespace
}  // namespace doppel::kafka_test
