#pragma once
// A sink on a Kafka in memory. Documents pass through the pipeline, so the decisions are real ones.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "kafka/sink.h"
#include "kafka/unit/simulated.h"
#include "records/metadata.h"

namespace doppel::kafka_test {

struct Input {
  std::optional<std::string> value, key;
  int32_t partition = 0;
  int64_t timestamp_ms = 1'600'000'000'000;
  uint32_t incarnation = 1;
  std::string not_fetched;
  bool known_missing = false;
  std::vector<std::pair<std::string, std::string>> headers;
};

inline Input page(const std::string& key, const std::string& text) {
  Input out{.value = R"({"text":")" + text + "\"}", .key = key, .not_fetched = {}, .headers = {}};
  return out;
}
// Forty words that no other number has.
inline std::string text(int number) {
  std::string out;
  for (int i = 0; i < 40; ++i) out += fmt::format("{}w{}", i == 0 ? "" : " ", number * 1000 + i);
  return out;
}
inline Input removal(const std::string& key) {
  Input out{.value = {}, .key = key, .not_fetched = {}, .headers = {}};
  return out;
}

// Documents that repeat, replace and remove others, while time passes.
inline std::vector<std::vector<Input>> random_batches(std::mt19937_64& random, int64_t& now_ms) {
  std::vector<std::vector<Input>> out(1 + random() % 12);
  for (std::vector<Input>& batch : out) {
    for (uint64_t n = random() % 12; n > 0; --n) {
      const std::string key = fmt::format("{}", random() % 20);
      batch.push_back(random() % 4 == 0 ? removal(key) : page(key, text(static_cast<int>(random() % 40))));
      batch.back().timestamp_ms = now_ms;
      now_ms += static_cast<int64_t>(random() % 200);
    }
  }
  return out;
}

// Each list of inputs is a batch.
class ListSource final : public Source {
 public:
  ListSource(const std::vector<std::vector<Input>>& batches, std::map<int32_t, uint64_t>& offsets)
      : batches_(batches), offsets_(offsets) {}

  absl::StatusOr<bool> next(Batch& batch) override {
    batch = {};
    if (at_ == batches_.size()) return false;
    for (const Input& input : batches_[at_++]) {
      Record& record = batch.records.emplace_back();
      record.value = kept(input.value.value_or(""));
      record.null_value = !input.value;
      if (input.key) record.key = kept(*input.key);
      if (!input.headers.empty()) {
        std::vector<Header>& headers = headers_.emplace_back();
        for (const auto& [name, value] : input.headers) headers.push_back({kept(name), kept(value)});
        record.headers = headers;
      }
      record.source = source_;
      record.partition = input.partition;
      record.incarnation = input.incarnation;
      record.offset = offsets_[input.partition]++;
      record.timestamp_ms = input.timestamp_ms;
      record.not_fetched = kept(input.not_fetched);
      record.known_missing = input.known_missing;
      batch.bytes += record.value.size();
    }
    return true;
  }
  uint64_t bytes_total() const override { return 0; }
  uint64_t bytes_read() const override { return 0; }

 private:
  std::string_view kept(const std::string& text) {
    std::string& copy = texts_.emplace_back(text);
    copy.reserve(copy.size() + kRecordPadding);
    return copy;
  }
  const std::vector<std::vector<Input>>& batches_;
  std::map<int32_t, uint64_t>& offsets_;
  const std::string source_ = "pages";
  std::deque<std::string> texts_;
  std::deque<std::vector<Header>> headers_;
  size_t at_ = 0;
};

class Originals final : public StoredOriginals {
 public:
  absl::StatusOr<Original> original(Seq seq) override { return all.at(seq); }
  std::vector<Original> all;
};

class SinkInMemory : public ::testing::Test {
 protected:
  SinkInMemory() {
    kafka.topic("pages", 2);
    for (const char* topic : {"log", "events", "dead", "copies"}) kafka.topic(topic, 1);
    engine_options.rule = make_rule(.8, .995, 128).value();
    engine_options.track_ids = true;
    options.index_log.name = "log";
    options.events.name = "events";
    options.dead_letters.name = "dead";
    options.unique.name = "copies";
    options.context = {.scheme = "s", .epoch = "e"};
    options.commit = kafka::CommitThread::Where::in_turn;
  }
  // Makes everything with the options as they are now.
  void start() {
    bodies = memory_bodies();
    engine = std::make_unique<Engine>(engine_options, *bodies);
    auto opened = kafka::Transactor::open(kafka.process(), transactor_options("me"), [] { return false; });
    ASSERT_TRUE(opened.ok()) << opened.status();
    transactor = *std::move(opened);
    kafka::KafkaPosition position;
    position.log_offset = transactor->log_offset();
    position.covered_ms = kafka.world.scheduler.unix_ms();
    sink = std::make_unique<kafka::KafkaSink>(kafka.process(), options, *engine, originals, *transactor,
                                              position);
  }
  absl::Status run(const std::vector<std::vector<Input>>& batches) {
    if (!sink) start();
    ListSource source(batches, offsets);
    Pipeline pipeline{
        .source = source,
        .engine = *engine,
        .sink = *sink,
        .format = format,
        .keys = {.tombstones = true, .replace = true},
        .requests = [](Work&) { return true; },  // batches without documents, too
        .observe =
            [this](const Decided& decided, const BatchTimes&) {
              const Resolved& resolved = decided.work.resolved;
              for (size_t i = 0; i < resolved.places.size(); ++i)
                originals.all.push_back(
                    {.metadata = std::string(decided.work.sign.documents[resolved.places[i]].metadata),
                     .trusted_ms = resolved.rows[i].trusted_ms});
              for (const Removed& removed : resolved.removed) originals.all.at(removed.seq).removed = true;
            }};
    return run_pipeline(pipeline).status();
  }

  // "type of id, key".
  std::vector<std::string> events() {
    std::vector<std::string> out;
    for (const simulation::StoredRecord& r : kafka.committed("events")) {
      EXPECT_EQ(header_of(r, "ce_specversion"), "1.0");
      EXPECT_EQ(header_of(r, "ce_source"), "e");
      EXPECT_EQ(header_of(r, "content-type"), "application/json");
      out.push_back(
          fmt::format("{} {}, {}", header_of(r, "ce_type"), header_of(r, "ce_id"), r.key.value_or("no key")));
    }
    return out;
  }
  // The values of a header that dead letters have.
  std::vector<std::string> letters(const std::string& name) {
    std::vector<std::string> out;
    for (const simulation::StoredRecord& r : kafka.committed("dead")) out.push_back(header_of(r, name));
    return out;
  }
  // Without the claim.
  std::vector<std::string> log() {
    std::vector<std::string> out;
    for (const simulation::StoredRecord& r : kafka.committed("log")) {
      const std::string key = r.key.value_or(""), value = r.value.value_or("");
      const auto record = parse_log_record(key, value, r.value.has_value());
      EXPECT_TRUE(record.ok()) << record.status();
      if (!record.ok()) continue;
      out.push_back(std::visit([](const auto& one) { return said(one); }, *record));
    }
    out.erase(out.begin(), out.begin() + 2);
    return out;
  }
  static std::string said(const LogRow& row) {
    Metadata metadata;
    EXPECT_TRUE(decode_metadata(row.body.metadata, metadata).ok());
    return fmt::format("row {} {}", row.seq, metadata.name());
  }
  static std::string said(const LogRemoved& r) { return fmt::format("removed {}", r.seq); }
  static std::string said(const LogDropped& r) { return fmt::format("dropped {}", r.seq); }
  static std::string said(const LogShown& r) { return fmt::format("shown {}", r.seq); }
  static std::string said(const LogExpire& r) {
    return fmt::format("expire {} announced {}", r.lowest_live, r.announced);
  }
  static std::string said(const LogProgress& p) {
    return fmt::format("{}/{} next {} of {} last {} highest {}", p.topic, p.partition, p.next, p.incarnation,
                       p.last_ms - 1'600'000'000'000, p.highest_ms - 1'600'000'000'000);
  }
  static std::string said(const LogMissing& m) {
    return fmt::format("missing {}/{} {} {}", m.topic, m.partition, m.offset, m.reason);
  }
  static std::string said(const LogEpoch&) { return "epoch"; }
  static std::string said(const LogRule&) { return "rule"; }
  static std::string said(const LogOwner& o) { return "owner " + o.owner; }
  static std::string said(const LogCut& c) { return fmt::format("cut {} {}", c.generation, c.cut); }
  static std::string said(const LogBatch& b) { return fmt::format("({})", b.records); }

  void limit(const std::string& topic, int64_t bytes) {
    kafka.world.broker.topics[topic].configs["max.message.bytes"] = std::to_string(bytes);
  }

  Simulated kafka{1};
  EngineOptions engine_options;
  FormatOptions format;
  kafka::KafkaSinkOptions options;
  Originals originals;
  std::map<int32_t, uint64_t> offsets;
  std::unique_ptr<Bodies> bodies;
  std::unique_ptr<Engine> engine;
  std::unique_ptr<kafka::Transactor> transactor;
  std::unique_ptr<kafka::KafkaSink> sink;
};

}  // namespace doppel::kafka_test
