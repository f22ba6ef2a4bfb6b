// The snapshot in the state directory: when it is completed from the log, when it is set aside, and when a
// person must act.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "kafka/log/identity.h"
#include "kafka/unit/index_in_memory.h"

namespace doppel::kafka_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kSetAside = "the snapshot is set aside; the index is read from its log";

class Snapshots : public IndexInMemory {
 protected:
  Snapshots() {
    options.kafka.topics = {"pages"};
    options.tombstones = Tombstones::key;
    options.threads = 1;
    options.expire_after_ms = 1'000'000'000;
  }
  // Some documents, judged with the state directory. Returns what the index holds then.
  std::vector<std::string> make_index() {
    const auto index = open("writer");
    EXPECT_TRUE(index.ok()) << index.status();
    if (!index.ok()) return {};
    EXPECT_EQ(judge(**index, {{page("a", text(1)), page("b", text(2))}, {removal("a"), page("c", text(3))}}),
              absl::OkStatus());
    return content(**index);
  }
  // Opens the index again, expects this content, and keeps what was logged.
  void reopen(const std::vector<std::string>& expected, const Opening& how = {},
              const std::string& directory = "state", const std::string& name = "log") {
    ::testing::internal::CaptureStderr();
    const auto index = open_at(directory, how, name);
    log = ::testing::internal::GetCapturedStderr();
    ASSERT_TRUE(index.ok()) << index.status() << log;
    EXPECT_EQ(content(**index), expected);
  }
  // Another daemon writes a record to the log.
  void write_more() {
    const auto index = open_at("more", {.owner = "more"});
    ASSERT_TRUE(index.ok()) << index.status();
    ASSERT_EQ(fill(**index, 1), absl::OkStatus());
  }
  void damage_journals() const {
    for (const auto& file : std::filesystem::directory_iterator(options.state_directory))
      if (file.path().filename().string().starts_with("journal")) std::ofstream(file.path()) << "damage";
  }
  // The log ends here.
  void cut_log(int64_t end) {
    simulation::Partition& all = partition("log");
    std::erase_if(all.records, [&](const auto& r) { return r.offset >= end; });
    all.end = end;
  }
  // The broker has forgotten to mark what it committed last.
  void hang_from(int64_t offset) {
    for (simulation::StoredRecord& r : partition("log").records) {
      if (r.offset < offset) continue;
      r.state = simulation::StoredRecord::State::open;
      r.transactional_id = "doppel-log";
      r.forgotten = true;
    }
  }
  int64_t last_batch() {  // where the transaction of the last decision begins
    int64_t out = -1;
    for (const simulation::StoredRecord& r : kafka.committed("log"))
      if (r.key->size() == sizeof(Seq)) out = out < 0 || r.offset > out + 1 ? r.offset : out;
    return out;
  }
  absl::Status lost(int64_t end) const {
    return absl::FailedPreconditionError(fmt::format(
        "the index log log ends at offset {}, but {} was completed from it up to {}: the log was lost or "
        "created again. doppel rebuild --from state publishes it again; a new index needs a new state "
        "directory",
        end, options.state_directory, last_position().log_offset));
  }
  absl::StatusOr<LogIdentity> identity(const std::string& topic = "log",
                                       const std::string& cluster = "simulated") {
    auto reader = kafka::LogReader::open(kafka.process(), {"log", 0});
    return find_identity(*reader, reader->bounds().value(), {cluster, topic}, options.state_directory);
  }
  absl::Status refuse(const std::string& topic, const std::string& cluster = "simulated") {
    return refuse_state_of_another_log(kafka.process(), {cluster, topic}, options.state_directory);
  }

  std::string log;
};

TEST_F(Snapshots, IsCompletedFromTheLog) {
  const auto before = make_index();
  write_more();
  reopen(before);
  EXPECT_THAT(log, Not(HasSubstr(kSetAside)));
  EXPECT_THAT(log, HasSubstr("from_snapshot=3 from_log=0"));
}

TEST_F(Snapshots, KnowsHowManyDocumentsWereJudged) {
  make_index();
  {
    const auto index = open("writer");
    ASSERT_TRUE(index.ok()) << index.status();
    EXPECT_EQ((*index)->documents, 4u);
  }
  const auto index = open(Opening{.fresh_state = true});
  ASSERT_TRUE(index.ok()) << index.status();
  EXPECT_EQ((*index)->documents, 0u);  // the log does not say
}

// Only what came from the log is worth one.
TEST_F(Snapshots, ARestoreFromTheLogEndsWithACheckpoint) {
  make_index();
  for (const uint64_t made : {1, 0}) {
    const auto index = open_at("other", {});
    ASSERT_TRUE(index.ok()) << index.status();
    const uint64_t before = (*index)->state->checkpoint_stats().made;
    ASSERT_EQ(judge(**index, {{page("d", text(4))}}), absl::OkStatus());
    EXPECT_EQ((*index)->state->checkpoint_stats().made, before + made);
  }
}

TEST_F(Snapshots, IsSetAsideIfItIsDamaged) {
  const auto before = make_index();
  damage_journals();
  reopen(before);
  EXPECT_THAT(log, HasSubstr(kSetAside));
  EXPECT_TRUE(std::filesystem::exists(options.state_directory + "/damaged"));
  reopen(before);
  EXPECT_THAT(log, Not(HasSubstr(kSetAside)));
}

// Nothing else has this index.
TEST_F(Snapshots, StaysIfItIsDamagedAndTheLogHoldsNone) {
  make_index();
  damage_journals();
  cut_log(0);
  options.dry_run = true;
  const auto index = open("", true);
  EXPECT_TRUE(absl::IsDataLoss(index.status())) << index.status();
  EXPECT_FALSE(std::filesystem::exists(options.state_directory + "/damaged"));
}

TEST_F(Snapshots, IsSetAsideOnRequest) {
  const auto before = make_index();
  reopen(before, {.fresh_state = true});
  EXPECT_THAT(log, HasSubstr("because=\"doppel was asked to read the index from the log alone\""));
  EXPECT_THAT(log, HasSubstr("from_snapshot=0 from_log=3"));
  reopen(before, {.fresh_state = true}, "new");
  EXPECT_THAT(log, Not(HasSubstr(kSetAside)));
}

// Removals of originals that it holds may be gone from the log.
TEST_F(Snapshots, IsSetAsideIfItIsTooOld) {
  const auto before = make_index();
  set_retention_ms(20'000);
  write_more();
  sleep_ms(9'000);
  reopen(before);
  EXPECT_THAT(log, Not(HasSubstr(kSetAside)));
  sleep_ms(10'500);
  reopen(before);  // it has nothing to read
  EXPECT_THAT(log, Not(HasSubstr(kSetAside)));
  sleep_ms(10'500);
  write_more();
  reopen(before);
  EXPECT_THAT(log, HasSubstr("it is older than half of the log's delete.retention.ms (20000 ms)"));
  EXPECT_THAT(log, HasSubstr("from_snapshot=0 from_log=3"));
}

TEST_F(Snapshots, OfAnotherLogIsSetAside) {
  const auto before = make_index();
  kafka.world.broker.topics["again"] = kafka.world.broker.topics["log"];
  reopen(before, {}, "state", "again");
  EXPECT_THAT(log, HasSubstr("it belongs to the index log log of cluster simulated"));
  EXPECT_EQ(last_position().index_log, "again");
}

// The index moved there from another directory.
TEST_F(Snapshots, OfAnotherClusterIsSetAside) {
  const auto before = make_index();
  kafka.world.cluster = "another";
  for (simulation::StoredRecord& r : partition("log").records) {
    const auto record = parse_log_record(*r.key, *r.value, true);
    if (!std::holds_alternative<LogEpoch>(*record)) continue;
    LogEpoch epoch = std::get<LogEpoch>(*record);
    epoch.cluster = "another";
    std::string bytes;
    const LogPlace at = put_log_epoch(bytes, epoch);
    r.value = record_of(bytes, at).value;
  }
  reopen(before);
  EXPECT_THAT(log, HasSubstr("it belongs to the index log log of cluster simulated"));
  EXPECT_EQ(last_position().cluster, "another");
}

TEST_F(Snapshots, NewerThanTheLogIsALostLog) {
  make_index();
  const int64_t end = last_position().log_offset - 1;
  cut_log(end);
  const size_t records = kafka.committed("log").size();
  EXPECT_EQ(open("writer").status(), lost(end));
  EXPECT_EQ(open("", true).status(), lost(end));
  EXPECT_EQ(kafka.committed("log").size(), records);
  cut_log(0);
  EXPECT_EQ(open("writer").status(), lost(0));
  EXPECT_TRUE(kafka.committed("log").empty());
}

// A document without an original counts, too: its progress is lost.
TEST_F(Snapshots, TheLogOfAnEmptyIndexMayBeginAgain) {
  ASSERT_TRUE(open("writer").ok());
  cut_log(0);
  {
    const auto index = open("writer");
    ASSERT_TRUE(index.ok()) << index.status();
    ASSERT_EQ(judge(**index, {{removal("a")}}), absl::OkStatus());
    EXPECT_EQ(index->get()->engine->originals().next_seq(), 0u);
  }
  cut_log(0);
  EXPECT_EQ(open("writer").status(), lost(0));
}

TEST_F(Snapshots, AnEmptyOneOfAnotherIndexGivesWay) {
  ASSERT_TRUE(open_at("other", {}, "again").ok());
  {
    const auto index = open("writer");
    ASSERT_TRUE(index.ok()) << index.status();
  }
  const auto index = open_at("state", {}, "again");
  ASSERT_TRUE(index.ok()) << index.status();
  EXPECT_EQ((*index)->state->epoch(), (*index)->epoch.epoch);
}

TEST_F(Snapshots, OfAnotherIndexIsRefused) {
  ASSERT_TRUE(open_at("other", {}, "again").ok());
  {
    const auto index = open("writer");
    ASSERT_TRUE(index.ok()) << index.status();
    ASSERT_EQ(judge(**index, {{removal("a")}}), absl::OkStatus());  // a document, no original
  }
  const absl::Status refused = open_at("state", {}, "again").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("state: holds index"));
}

// The last batch was committed, but readers do not see it yet.
TEST_F(Snapshots, ABatchThatHangsIsNoLostLog) {
  const auto before = make_index();
  const int64_t from = last_batch();
  hang_from(from);
  const size_t seen = kafka.committed("log").size();
  EXPECT_EQ(open("", true).status(), lost(from));  // only the claim of a writer makes it visible
  EXPECT_EQ(kafka.committed("log").size(), seen);
  reopen(before);
  EXPECT_THAT(log, Not(HasSubstr(kSetAside)));
  const auto copy = read_again();
  ASSERT_TRUE(copy.ok()) << copy.status();
  EXPECT_EQ(content(**copy), before);
}

TEST_F(Snapshots, ADirectoryInUseIsRefusedBeforeTheOwnerIsFenced) {
  const auto owner = open("owner");
  ASSERT_TRUE(owner.ok()) << owner.status();
  const absl::Status refused = open("second").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("the state directory is in use by process"));
  EXPECT_EQ(fill(**owner, 1), absl::OkStatus());
}

TEST_F(Snapshots, SaysWhereTheEpochOfItsLogIs) {
  reopen(make_index());  // the first start begins the log, and later ones find the epoch there
  const auto hinted = identity();
  ASSERT_TRUE(hinted.ok()) << hinted.status();
  EXPECT_EQ(hinted->records_read, 1u);
  EXPECT_EQ(hinted->rule, last()->rule);
  EXPECT_EQ(hinted->epoch->epoch, last()->epoch);
  for (const auto& found : {identity("another"), identity("log", "another")}) {
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(found->offset, hinted->offset);
    EXPECT_EQ(found->rule, hinted->rule);
    EXPECT_GT(found->records_read, 1u);
  }
}

// The record is gone, or it is the epoch of another index.
TEST_F(Snapshots, AWrongHintIsNotTrusted) {
  reopen(make_index());
  const int64_t hint = last_position().epoch_offset;
  LogEpoch epoch = records_of<LogEpoch>("log").at(0);
  epoch.epoch.fill(9);
  std::string bytes;
  const LogPlace at = put_log_epoch(bytes, epoch);
  auto& all = partition("log").records;
  const auto record = std::find_if(all.begin(), all.end(), [&](const auto& r) { return r.offset == hint; });
  record->value = record_of(bytes, at).value;
  auto found = identity();
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->epoch->epoch, epoch.epoch);
  EXPECT_GT(found->records_read, 1u);

  simulation::StoredRecord moved = std::move(*record);
  all.erase(record);
  kafka.world.broker.append({"log", 0}, std::move(moved));
  found = identity();
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->offset, partition("log").end - 1);

  partition("log").low = hint + 1;
  EXPECT_EQ(identity()->offset, found->offset);
}

TEST_F(Snapshots, ALogThatIsNotTheirsIsRefusedBeforeItIsCreated) {
  EXPECT_EQ(refuse("again"), absl::OkStatus());  // no directory
  ASSERT_TRUE(open("writer").ok());
  EXPECT_EQ(refuse("again"), absl::OkStatus());  // an empty one
  make_index();
  EXPECT_EQ(refuse("log"), absl::OkStatus());
  const std::string holds = options.state_directory + " holds ";
  EXPECT_EQ(
      refuse("again"),
      absl::InvalidArgumentError(
          holds +
          "the index of the log log, and there is no index in again: set kafka.index_log to the former, "
          "or move the index with doppel rebuild --from state; a new index needs a new state "
          "directory"));
  const absl::Status other = refuse("again", "another");
  EXPECT_TRUE(absl::IsInvalidArgument(other)) << other;
  EXPECT_THAT(
      std::string(other.message()),
      HasSubstr(holds + "an index of the cluster simulated, and kafka.brokers is the cluster another, "
                        "where there is no index in again"));
  EXPECT_EQ(refuse("log", "another"), absl::OkStatus());  // opening says what is wrong with it
  kafka.topic("again", 1);
  EXPECT_TRUE(absl::IsInvalidArgument(refuse("again")));
  kafka.world.away_until = kafka.world.scheduler.now() + std::chrono::minutes(1);
  EXPECT_EQ(refuse("again"), absl::OkStatus());  // nobody knows
  kafka.world.away_until = {};
  kafka.world.broker.append({"again", 0}, {.value = "", .headers = {}});
  EXPECT_EQ(refuse("again"), absl::OkStatus());
}

}  // namespace
}  // namespace doppel::kafka_test
