#pragma once
// A state directory whose index log is published again, on a Kafka in memory.

#include <fmt/format.h>

#include <fstream>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "kafka/log/kafka_index.h"
#include "kafka/unit/index_in_memory.h"

namespace doppel::kafka_test {

inline constexpr const char* kHexKey = "000102030405060708090a0b0c0d0e0f";

class FromState : public IndexInMemory {
 protected:
  FromState() {
    options.kafka.topics = {"pages"};
    options.tombstones = Tombstones::key;
    options.on_update = OnUpdate::replace;
    options.threads = 1;
    options.hash_key_file = dir / "key";
    std::ofstream(options.hash_key_file) << kHexKey;
    key = parse_hash_key(kHexKey).value();
  }
  // So many different documents, of which some are removed again.
  std::vector<std::vector<Input>> many(int documents) {
    std::vector<std::vector<Input>> out(1);
    for (int i = 0; i < documents; ++i) {
      if (out.back().size() >= 200) out.emplace_back();
      out.back().push_back(page(fmt::format("{}", i), text(i)));
      if (i % 7 == 0) out.back().push_back(removal(fmt::format("{}", i / 2)));
    }
    return out;
  }
  // A better copy for some originals.
  static absl::Status show_copies(KafkaIndex& index) {
    kafka::Outbox outbox;
    const doppel::Originals& all = index.engine->originals();
    for (Seq seq = all.lowest_live(); seq < all.next_seq(); seq += 3)
      outbox.add_log("log", put_log_shown(outbox.bytes(), {.seq = seq, .copy = fmt::format("copy {}", seq)}));
    return index.transactor->commit(outbox);
  }
  // An index in the state directory and in "log". Returns what it holds.
  std::vector<std::string> make_index(const std::vector<std::vector<Input>>& batches) {
    {
      const auto index = open("writer");
      EXPECT_TRUE(index.ok()) << index.status();
      if (!index.ok()) return {};
      EXPECT_EQ(judge(**index, batches), absl::OkStatus());
      EXPECT_EQ(show_copies(**index), absl::OkStatus());
    }
    const auto index = open("writer");  // stores the copies
    EXPECT_TRUE(index.ok()) << index.status();
    return index.ok() ? content(**index) : std::vector<std::string>();
  }
  // Publishes the index to the log `to`. `ends_at`: it is told to stop when it asks that often.
  absl::Status publish(const std::string& to = "again", const std::string& offsets_file = "",
                       int ends_at = -1) {
    Config config{.options = options, .settings = {}};
    config.options.kafka.index_log = to;
    publisher = &kafka.process();
    return log_from_state(config, *publisher, offsets_file,
                          {.stop = [asked = 0, ends_at]() mutable { return ++asked == ends_at; }});
  }
  // The index moves to another cluster, which has the same input.
  void move() {
    auto pages = std::move(kafka.world.broker.topics["pages"]);
    kafka.world.broker = {};
    kafka.world.broker.topics["pages"] = std::move(pages);
    kafka.topic("docs", 1);
    kafka.world.cluster = "another";
  }
  std::string offsets_file(const std::string& lines) {
    const std::string path = dir / "offsets";
    std::ofstream(path) << lines;
    return path;
  }
  // What does not depend on who wrote the log: everything but the claims and the ends of transactions.
  std::vector<std::string> said(const std::string& log) {
    std::vector<std::string> out;
    for (const LogRecord& r : records(log)) {
      if (const auto* row = std::get_if<LogRow>(&r)) out.push_back(fmt::format("row {}", row->seq));
      if (const auto* e = std::get_if<LogEpoch>(&r))
        out.push_back(fmt::format("epoch {} from {}", e->complete ? "whole" : "begun", e->rebuilt_from));
      if (const auto* p = std::get_if<LogProgress>(&r))
        out.push_back(fmt::format("{}/{}", p->topic, p->partition));
      if (std::holds_alternative<LogRule>(r)) out.emplace_back("rule");
      if (std::holds_alternative<LogExpire>(r)) out.emplace_back("expire");
    }
    return out;
  }

  simulation::LifeCluster* publisher = nullptr;  // of the last call
  int64_t now_ = 1'600'000'000'000;
};

}  // namespace doppel::kafka_test
