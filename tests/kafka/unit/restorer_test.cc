// An index restored from its log is the index that wrote it, compacted or not, in one go or in steps.
#include "kafka/log/restorer.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "kafka/unit/sink_in_memory.h"
#include "state/restore.h"
#include "temporary_directory.h"

namespace doppel::kafka_test {
namespace {

using kafka::KafkaPosition;
using ::testing::HasSubstr;

class RestorerInMemory : public SinkInMemory {
 protected:
  RestorerInMemory() {
    options.unique.name.clear();
    engine_options.rule.generation = 4;
    engine_options.rule.watermark_rank = 1;
  }

  // Opens the directory and restores up to `end`.
  void restore(int64_t end) {
    copy_.reset();
    state_.reset();
    auto opened = StateDir::open({.directory = dir_ / "state",
                                  .data_scheme = "a=b\n",
                                  .rule = "c=d\n",
                                  .accepted = {},
                                  .epoch = {},
                                  .fsync = Fsync::none,
                                  .sync_outputs = {}},
                                 {});
    ASSERT_TRUE(opened.ok()) << opened.status();
    state_ = *std::move(opened);
    const Recovered& r = state_->recovered();
    position_ = {
        .cluster = "simulated", .index_log = "log", .expire = {}, .cut = {}, .owner = {}, .progress = {}};
    if (!r.fresh) position_ = kafka::decode_position(r.source_position).value();
    position_.expire.clock = r.clock;
    copy_ = std::make_unique<Engine>(engine_options, state_->bodies());
    ASSERT_TRUE(copy_->start_restore(r.first_row, r.lowest_live, r.clock).ok());
    ASSERT_TRUE(load_rows_into(*state_, *copy_, [](const RestoreProgress&) {}).ok());
    restorer_ = std::make_unique<LogRestorer>(*state_, *copy_, 0, position_, r.documents);
    read(end);
  }
  void read(int64_t end) {
    auto log = kafka::LogReader::open(kafka.process(), {"log", 0});
    ASSERT_TRUE(log.ok()) << log.status();
    const absl::Status restored = restorer_->restore(*log, end, [](uint64_t) {});
    ASSERT_TRUE(restored.ok()) << restored;
  }
  int64_t end() const { return kafka.world.broker.topics.at("log").partitions[0].end; }

  // Reads what is written now, like a matcher. Its clock stands still, because it expires nothing by itself.
  void follow(std::mt19937_64& random) {
    restorer_->follow(1, [](int parts, const std::function<void(int)>& part) {
      for (int i = 0; i < parts; ++i) part(i);
    });
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(run(random_batches(random, now_)).ok());
      read(end());
      compare(true);
    }
  }
  // Adds the content of one original with the number of another one.
  void write_twice(Seq number, Seq content) {
    for (const simulation::StoredRecord& r : kafka.committed("log")) {
      const std::string value = r.value.value_or("");  // the row has views of it
      const auto record = parse_log_record(*r.key, value, r.value.has_value());
      const auto* row = std::get_if<LogRow>(&*record);
      if (row == nullptr || row->seq != content) continue;
      StoredRow other{.seq = number, .row = {}, .trusted_ms = row->trusted_ms};
      other.row.digest = row->digest;
      other.row.id_tag = row->id_tag;
      other.row.mask = row->mask.data();
      other.row.slices = reinterpret_cast<const uint8_t*>(row->slices.data());
      std::string bytes;
      const LogPlace at = put_log_row(bytes, other, options.num_perm, options.mask_words, 0, row->body);
      kafka.world.broker.append({"log", 0}, record_of(bytes, at));
      return;
    }
  }

  // Compares with the engine that wrote the log.
  void compare(bool follows = false) {
    const doppel::Originals& live = copy_->originals();
    ASSERT_EQ(restorer_->next_seq(), originals.all.size());
    // Numbers may begin within a generation, whose youngest time then follows.
    if (!follows) {
      EXPECT_EQ(copy_->clock().substr(0, engine->clock().size()), engine->clock());
    }
    EXPECT_EQ(position_.progress_list().size(), sink->where().progress_list().size());
    for (Seq seq = 0; seq < originals.all.size(); ++seq) {
      SCOPED_TRACE(seq);
      const StoredOriginals::Original& written = originals.all[seq];
      EXPECT_EQ(live.live(seq), engine->originals().live(seq));
      if (seq < live.lowest_live()) continue;
      const auto row = state_->read_row(seq);
      ASSERT_TRUE(row.ok()) << row.status();
      EXPECT_EQ(row->removed, written.removed);
      EXPECT_EQ(row->trusted_ms, written.trusted_ms);
      if (written.removed) continue;
      std::string bytes;
      const auto body = state_->bodies().read(row->row.body, bytes);
      ASSERT_TRUE(body.ok()) << body.status();
      EXPECT_EQ(body->metadata, written.metadata);
    }
  }
  void remove_directory() {
    restorer_.reset();
    copy_.reset();
    state_.reset();
    std::filesystem::remove_all(dir_ / "state");
  }

  std::unique_ptr<StateDir> state_;
  std::unique_ptr<Engine> copy_;
  KafkaPosition position_;
  std::unique_ptr<LogRestorer> restorer_;
  int64_t now_ = 1'600'000'000'000;

 private:
  const TemporaryDirectory dir_;
};

class RestorerInMemoryRules : public RestorerInMemory, public ::testing::WithParamInterface<int64_t> {};

TEST_P(RestorerInMemoryRules, RestoresTheIndexThatWroteTheLog) {
  const uint64_t seed = std::random_device{}();
  std::mt19937_64 random(seed);
  engine_options.rule.expire_after_ms = GetParam();
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(fmt::format("seed {}, round {}", seed, round));
    ASSERT_TRUE(run(random_batches(random, now_)).ok());
    if (random() % 2 == 0) remove_directory();
    // In steps, between which the broker may compact what was read.
    int64_t at = 0;
    while (random() % 4 != 0) {
      at += static_cast<int64_t>(random() % static_cast<uint64_t>(end() - at + 1));
      restore(at);
      if (HasFatalFailure()) return;
      if (random() % 2 == 0) kafka.world.broker.compact("log");
    }
    restore(end());
    if (HasFatalFailure()) return;
    copy_->finish_restore();
    compare();
    if (HasFailure()) return;
    if (random() % 3 == 0) follow(random);
    if (HasFailure()) return;
  }
}
INSTANTIATE_TEST_SUITE_P(Kafka, RestorerInMemoryRules, ::testing::Values(0, 3'000),
                         [](const auto& rule) { return rule.param == 0 ? "ForEver" : "WithExpiry"; });

// A commit for each record would take many times as long.
TEST_F(RestorerInMemory, WritesTheDirectoryOnce) {
  ASSERT_TRUE(run({{page("a", text(1)), page("b", text(2)), page("c", text(3))}}).ok());
  restore(end());
  ASSERT_FALSE(HasFatalFailure());
  EXPECT_EQ(state_->checkpoint_stats().commits_since, 1u);
}

// Two processes wrote at the same time.
TEST_F(RestorerInMemory, ANumberWithTwoContentsIsAnError) {
  ASSERT_TRUE(run({{page("a", text(1)), page("b", text(2)), page("c", text(3))}}).ok());
  const int64_t good = end();
  write_twice(1, 1);  // a repeated record is no error
  restore(end());
  if (HasFatalFailure()) return;
  write_twice(1, 2);
  auto log = kafka::LogReader::open(kafka.process(), {"log", 0});
  for (const int64_t known : {int64_t{0}, good}) {  // read before in the same call, or earlier
    remove_directory();
    restore(known);
    if (HasFatalFailure()) return;
    const absl::Status read = restorer_->restore(*log, end(), [](uint64_t) {});
    EXPECT_TRUE(absl::IsDataLoss(read)) << read;
    EXPECT_THAT(std::string(read.message()), HasSubstr("log at offset "));
    EXPECT_THAT(std::string(read.message()), HasSubstr("holds original 1 twice, with different contents"));
  }
}

TEST_F(RestorerInMemory, ARecordOfAnotherSchemeIsAnError) {
  options.scheme = 7;
  ASSERT_TRUE(run({{page("a", text(1))}}).ok());
  restore(0);
  auto log = kafka::LogReader::open(kafka.process(), {"log", 0});
  const absl::Status read = restorer_->restore(*log, end(), [](uint64_t) {});
  EXPECT_TRUE(absl::IsFailedPrecondition(read)) << read;
  EXPECT_THAT(std::string(read.message()), HasSubstr("another data scheme"));
}

}  // namespace
}  // namespace doppel::kafka_test
