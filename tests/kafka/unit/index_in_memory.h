#pragma once
// An index that is opened from its log and its state directory, on a Kafka in memory. Documents pass through
// the pipeline, as in a daemon.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kafka/log/kafka_index.h"
#include "kafka/unit/simulated.h"
#include "kafka/unit/sink_in_memory.h"
#include "kafka/unit/topics_cluster.h"
#include "state/journal.h"
#include "temporary_directory.h"

namespace doppel::kafka_test {

// How a test opens an index.
struct Opening {
  std::string owner = "me";
  bool read_only = false, fresh_state = false;
  std::optional<std::string> rebuilt_from = {};
  Standby* standby = nullptr;
  std::function<bool()> stop = [] { return false; };
  std::function<void()> reading = [] {};  // called when a look at the log begins
};

class IndexInMemory : public ::testing::Test {
 protected:
  IndexInMemory() {
    kafka.topic("pages", 1);
    kafka.topic("docs", 1);
    options = options_with_topics();
    options.kafka.create_topics = true;
    options.kafka.transaction_timeout_ms = 10'000;
    options.kafka.commit_deadline_ms = 5'000;
    options.state_directory = dir / "state";
  }
  using Index = std::unique_ptr<KafkaIndex>;
  absl::StatusOr<Index> open(const Opening& how) { return open_with(options, how); }
  absl::StatusOr<Index> open_with(const Options& with, const Opening& how) {
    restoring.clear();
    const auto plan = plan_kafka(with, kafka.process(), {});
    if (!plan.ok()) return plan.status();
    return open_kafka_index({.options = with,
                             .plan = *plan,
                             .key = key,
                             .fresh_state = how.fresh_state,
                             .read_only = how.read_only,
                             .owner = how.owner,
                             .sync_on = std::launch::deferred,
                             .rebuilt_from = how.rebuilt_from,
                             .standby = how.standby,
                             .stop = how.stop,
                             .restoring = [this, &how](const RestoreProgress& p) {
                               restoring.push_back(p);
                               if (p.phase == "reading the index log" && p.done == 0) how.reading();
                             }});
  }
  absl::StatusOr<Index> open(const std::string& owner, bool read_only = false) {
    return open(Opening{.owner = owner, .read_only = read_only});
  }
  // The same, with another directory and perhaps another log.
  absl::StatusOr<Index> open_at(const std::string& directory, const Opening& how,
                                const std::string& log = "log") {
    Options with = options;
    with.state_directory = dir / directory;
    with.kafka.index_log = log;
    return open_with(with, how);
  }
  // What the log holds, read into a new directory.
  absl::StatusOr<Index> read_again(const std::string& log = "log") {
    return open_at(fmt::format("read-{}", read_++), {.owner = "", .read_only = true}, log);
  }

  // So many records that change nothing.
  static absl::Status fill(KafkaIndex& index, int records) {
    kafka::Outbox outbox;
    for (int i = 0; i < records; ++i)
      outbox.add_log(index.index_log,
                     put_log_missing(outbox.bytes(), {.topic = "docs", .offset = i, .reason = "gone"}));
    return index.transactor->commit(outbox);
  }
  // Judges documents of the topic "pages", and publishes and stores what it decides.
  absl::Status judge(KafkaIndex& index, const std::vector<std::vector<Input>>& batches) {
    const auto plan = plan_kafka(options, kafka.process(), {});
    if (!plan.ok()) return plan.status();
    kafka::KafkaSinkOptions how = sink_options(options, *plan, index);
    how.commit = kafka::CommitThread::Where::in_turn;
    kafka::KafkaSink sink(kafka.process(), how, *index.engine, *index.originals, *index.transactor,
                          index.position);
    SnapshotJournal journal(index, sink);
    ListSource source(batches, offsets);
    Pipeline pipeline{.source = source,
                      .engine = *index.engine,
                      .sink = sink,
                      .journal = &journal,
                      .format = options.input,
                      .keys = key_policy(options)};
    const absl::Status ran = run_pipeline(pipeline).status();
    index.position = sink.where();
    return ran;
  }

  // All that an index knows, and that its log must restore. Numbers below the first live one are unknown.
  static std::vector<std::string> content(KafkaIndex& index) {
    const doppel::Originals& all = index.engine->originals();
    const kafka::KafkaPosition& at = index.position;
    std::vector<std::string> out{
        fmt::format("index {}, {} words", epoch_string(index.epoch.epoch), index.epoch.mask_words),
        fmt::format("originals {} to {}", all.lowest_live(), all.next_seq()),
        fmt::format("expire {} announced {} clock {:x}", at.expire.lowest_live, at.expire.announced,
                    std::hash<std::string>()(at.expire.clock))};
    for (const LogProgress& p : at.progress_list())
      out.push_back(fmt::format("{}/{} next {} of {} last {} highest {}", p.topic, p.partition, p.next,
                                p.incarnation, p.last_ms, p.highest_ms));
    for (Seq seq = all.lowest_live(); seq < all.next_seq(); ++seq) {
      std::string bytes;
      const auto row = index.state->read_row(seq);
      EXPECT_TRUE(row.ok()) << row.status();
      if (!row.ok()) break;
      out.push_back(fmt::format("{} {} removed {} at {}", seq, all.live(seq), row->removed, row->trusted_ms));
      if (!all.live(seq)) continue;
      const auto body = index.state->bodies().read(row->row.body, bytes);
      EXPECT_TRUE(body.ok()) << body.status();
      if (!body.ok()) break;
      const std::string* shown = index.state->shown(seq);
      const std::string_view slices(reinterpret_cast<const char*>(row->row.slices), 128);
      out.back() +=
          fmt::format(" {:x} {:x} {:x} tag {:x} shows {} metadata {} slices {:x} body {:x}",
                      row->row.digest.low, row->row.digest.high, row->row.payload, row->row.id_tag,
                      shown == nullptr ? "itself" : *shown, std::hash<std::string_view>()(body->metadata),
                      std::hash<std::string_view>()(row->row.slices ? slices : ""),
                      std::hash<std::string_view>()(body->coded_set));
    }
    return out;
  }
  std::optional<LastCommit> last(const std::string& directory = "state") const {
    return last_commit(dir / directory);
  }
  kafka::KafkaPosition last_position(const std::string& directory = "state") const {
    return kafka::decode_position(last(directory)->record.source_position).value();
  }
  // The records of an index log that readers see.
  std::vector<LogRecord> records(const std::string& log) {
    kept_.push_back(kafka.committed(log));
    std::vector<LogRecord> out;
    for (const simulation::StoredRecord& r : kept_.back()) {
      auto record = parse_log_record(r.key.value_or(""), r.value ? *r.value : "", r.value.has_value());
      EXPECT_TRUE(record.ok()) << record.status();
      if (record.ok()) out.push_back(*std::move(record));
    }
    return out;
  }
  template <typename T>
  std::vector<T> records_of(const std::string& log) {
    std::vector<T> out;
    for (LogRecord& r : records(log))
      if (auto* one = std::get_if<T>(&r)) out.push_back(std::move(*one));
    return out;
  }
  simulation::Partition& partition(const std::string& topic) {
    return kafka.world.broker.topics.at(topic).partitions[0];
  }
  // The time after which the log forgets removals.
  void set_retention_ms(int64_t ms) {
    kafka.world.broker.topics["log"].configs["delete.retention.ms"] = std::to_string(ms);
  }
  void sleep_ms(int64_t ms) { kafka.world.scheduler.sleep(std::chrono::milliseconds(ms)); }
  int64_t now_ms() { return kafka.world.scheduler.unix_ms(); }

  Simulated kafka{1};
  const TemporaryDirectory dir;
  Options options;
  HashKey key{.low = 1, .high = 2};
  std::map<int32_t, uint64_t> offsets;  // of the next documents
  std::vector<RestoreProgress> restoring;

 private:
  int read_ = 0;
  std::deque<std::vector<simulation::StoredRecord>> kept_;  // views point into them
};

}  // namespace doppel::kafka_test
