// A source whose topic is deleted and created again, loses records, or is away: on a Kafka in memory.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "kafka/source.h"
#include "kafka/unit/simulated.h"

namespace doppel::kafka_test {
namespace {

using kafka::KafkaSource;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::chrono::milliseconds kRecreation(100);  // brokers take longer than 80 ms
constexpr std::chrono::milliseconds kStale(90);        // a broker reports the old id for so long

class ChangingTopic : public ::testing::Test {
 protected:
  explicit ChangingTopic(uint64_t seed = 1) : kafka(seed) {
    options.metadata_ms = 1'000;
    kafka.topic("pages", 0);
    recreate(2);
  }

  simulation::Broker::Topic& topic() { return kafka.world.broker.topics["pages"]; }
  simulation::Partition& partition(size_t n) { return topic().partitions.at(n); }
  // Adds records whose values say which topic of this name they belong to.
  void add(int32_t number, int records = 1) {
    for (; records > 0; --records) {
      simulation::StoredRecord record;
      record.timestamp_ms = kafka.world.scheduler.unix_ms();
      record.value = fmt::format("{}/{}/{}", made_, number, partition(static_cast<size_t>(number)).end);
      kafka.world.broker.append({"pages", number}, record);
    }
  }
  void recreate(size_t partitions) {
    Clock::sleep(kRecreation);
    kafka.world.stale_id = kafka.world.broker.id_of(topic());
    kafka.world.stale_until = Clock::now() + kStale;
    kafka.world.broker.recreate("pages", partitions);
    ++made_;
  }

  void hide(std::chrono::milliseconds duration) { kafka.world.hidden_until = Clock::now() + duration; }

  absl::Status open() {
    source.reset();
    std::vector<LogProgress> progress;
    for (const auto& [number, p] : progress_) progress.push_back(p);
    auto opened = KafkaSource::open(kafka.process(), options, progress);
    if (!opened.ok()) return opened.status();
    source = *std::move(opened);
    return absl::OkStatus();
  }
  // One batch. Appends what it reads to `read`.
  absl::Status next() {
    Batch batch;
    RETURN_IF_ERROR(source->next(batch).status());
    for (size_t i = 0; i < batch.records.size(); ++i) {
      const Record& r = batch.records[i];
      read.emplace_back(r.value);
      LogProgress& p = progress_[r.partition];
      EXPECT_GE(r.incarnation, p.incarnation);
      if (r.incarnation > p.incarnation) p = {.former_id = p.topic_id};
      p.topic = "pages";
      p.partition = r.partition;
      p.next = static_cast<int64_t>(r.offset) + 1;
      p.incarnation = r.incarnation;
      p.last_ms = r.timestamp_ms;
      p.moved = r.moved;
      if (!r.topic_id.empty()) p.topic_id = r.topic_id;
      p.written_ms = Clock::unix_ms();
      if (i + 1 == batch.records.size() || batch.records[i + 1].partition != r.partition) {
        const Record* first = &r;
        while (first != batch.records.data() && first[-1].partition == r.partition) --first;
        add_samples(p.samples, static_cast<size_t>(&r - first + 1), [&](size_t n) {
          return LogProgress::Sample{static_cast<int64_t>(first[n].offset), first[n].timestamp_ms,
                                     kafka::checksum_of("", first[n].value)};
        });
      }
      topic().group[r.partition] = {.offset = p.next, .note = ""};
      made_by_[r.incarnation].insert(std::stoi(read.back()));
    }
    return absl::OkStatus();
  }
  absl::Status read_on(std::chrono::milliseconds duration) {
    for (const auto end = Clock::now() + duration; Clock::now() < end;) RETURN_IF_ERROR(next());
    return absl::OkStatus();
  }

  Simulated kafka;
  kafka::KafkaSourceOptions options = source_options();
  std::unique_ptr<KafkaSource> source;
  std::vector<std::string> read;
  std::map<int32_t, LogProgress> progress_;
  std::map<uint32_t, std::set<int>> made_by_;  // which topics the records of an incarnation belong to
  int made_ = 0;                               // topics of this name so far
};

// What was fetched beyond it was never judged. One line says it, however many partitions there are.
TEST_F(ChangingTopic, IsSaidOnceWithThePlacesThatWereJudged) {
  add(0, 5);
  add(1, 3);
  ASSERT_TRUE(open().ok());
  ASSERT_TRUE(read_on(std::chrono::seconds(2)).ok());
  recreate(2);
  add(0, 9);
  add(1, 1);
  ::testing::internal::CaptureStderr();
  const absl::Status status = read_on(std::chrono::seconds(20));
  const std::string log = ::testing::internal::GetCapturedStderr();
  ASSERT_TRUE(status.ok()) << status;
  const size_t line = log.find("an input topic was deleted and created again");
  ASSERT_NE(line, std::string::npos) << log;
  EXPECT_EQ(log.find("an input topic was deleted and created again", line + 1), std::string::npos) << log;
  EXPECT_THAT(log, HasSubstr("incarnation=2 old_was_judged_up_to=\"0:5 1:3\" new_offsets=\"0:0-9 1:0-1\""));
  EXPECT_EQ(source->statistics()->get().incarnations.at("pages"), 2u);
}

// In each topic, every partition is read from its beginning without a gap, and the last topic is read whole.
class ChangingTopicEachTime : public ChangingTopic, public ::testing::WithParamInterface<bool> {};
INSTANTIATE_TEST_SUITE_P(Ids, ChangingTopicEachTime, ::testing::Bool());

TEST_P(ChangingTopicEachTime, IsReadFromItsBeginning) {
  kafka.world.reports_ids = GetParam();
  const uint64_t seed = std::random_device{}();
  std::mt19937_64 random(seed);
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::map<std::string, int64_t> next_of;  // "topic/partition" -> offset
  ASSERT_TRUE(open().ok());
  for (int round = 0; round < 2'000; ++round) {
    const auto partitions = static_cast<int32_t>(topic().partitions.size());
    switch (random() % 8) {
      case 0:
        recreate(1 + random() % 3);
        break;
      case 1: {  // a partition more
        topic().partitions.resize(topic().partitions.size() + (partitions < 4 ? 1 : 0));
        break;
      }
      case 2:
        hide(std::chrono::milliseconds(random() % 3'000));
        break;
      case 3: {
        const absl::Status opened = open();
        ASSERT_TRUE(opened.ok()) << opened;
        break;
      }
      default:
        add(static_cast<int32_t>(random() % static_cast<uint64_t>(partitions)),
            static_cast<int>(random() % 20));
    }
    const absl::Status status = read_on(std::chrono::milliseconds(random() % 50));
    ASSERT_TRUE(status.ok()) << status;
  }
  for (int32_t p = 0; p < static_cast<int32_t>(topic().partitions.size()); ++p) add(p);
  const absl::Status status = read_on(std::chrono::seconds(20));
  ASSERT_TRUE(status.ok()) << status;
  for (const std::string& value : read) {
    const size_t slash = value.rfind('/');
    EXPECT_EQ(std::stoll(value.substr(slash + 1)), next_of[value.substr(0, slash)]++) << value;
  }
  for (size_t p = 0; p < topic().partitions.size(); ++p)
    EXPECT_EQ(next_of[fmt::format("{}/{}", made_, p)], partition(p).end) << p;
  std::set<int> seen;
  for (const auto& [incarnation, topics] : made_by_) {
    EXPECT_EQ(topics.size(), 1u) << incarnation;
    EXPECT_TRUE(seen.insert(*topics.begin()).second) << incarnation;
  }
}

// Reads five records of each partition, from a broker that reports ids or not.
class ReadTopic : public ChangingTopic, public ::testing::WithParamInterface<bool> {
 protected:
  ReadTopic() {
    kafka.world.reports_ids = GetParam();
    EXPECT_TRUE(open().ok());
    for (const int count : {3, 1, 1}) {  // the id is trusted after a second
      add(0, count);
      add(1, count);
      EXPECT_TRUE(read_on(std::chrono::milliseconds(1'100)).ok());
    }
    EXPECT_EQ(read.size(), 10u);
    read.clear();
  }
  // What the running source says, and one that starts now.
  void expect_error(const std::string& text, const std::string& remedy = "") {
    for (const bool again : {false, true}) {
      const absl::Status status = again ? open() : read_on(std::chrono::seconds(5));
      EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr(text));
      EXPECT_THAT(std::string(status.message()), HasSubstr(remedy));
    }
    EXPECT_THAT(read, IsEmpty());
  }
};

INSTANTIATE_TEST_SUITE_P(Ids, ReadTopic, ::testing::Bool());

TEST_P(ReadTopic, ThatIsMadeAgainStopsIfItMust) {
  options.recreated_stops = "This helps.";
  ASSERT_TRUE(open().ok());
  recreate(2);
  add(0, 9);
  expect_error(GetParam() ? "the topic pages has the id id-3, and the one that was read had id-2"
                          : "pages/1 ends at offset 0, but it was read up to 5",
               ": the topic was deleted and created again. This helps.");
}

// The partition that was read last is gone, and comes back with a later topic.
TEST_P(ReadTopic, ThatIsMadeAgainWithFewerPartitionsIsReadFromItsBeginning) {
  recreate(1);
  add(0, 2);
  ASSERT_TRUE(read_on(std::chrono::seconds(5)).ok());
  EXPECT_THAT(read, ElementsAre("2/0/0", "2/0/1"));
  recreate(2);
  add(1);
  add(0, 3);
  ASSERT_TRUE(read_on(std::chrono::seconds(5)).ok());
  EXPECT_THAT(read, ::testing::UnorderedElementsAre("2/0/0", "2/0/1", "3/0/0", "3/0/1", "3/0/2", "3/1/0"));
}

// All partitions lost records: that is no reason to take the topic for another one.
TEST_P(ReadTopic, WhoseBrokersLostTheLastRecordsIsAnError) {
  for (const size_t n : {0, 1}) kafka.world.broker.lose_tail({"pages", static_cast<int32_t>(n)}, 2);
  add(0);
  expect_error(
      "pages/0 ends at offset 4, but it was read up to 5: the brokers have lost records that were read. Go "
      "back to where it is the same, and start again: ",
      "doppel offsets set pages/0=2 pages/1=2 --yes");
}

TEST_P(ReadTopic, WhoseTailWasLostAndGrewAgainIsAnError) {
  kafka.world.broker.lose_tail({"pages", 1}, 2);
  add(1, 4);
  options.metadata_ms = 100'000;
  expect_error(
      "pages/1 holds another record at offset 4 than the one that was read: the brokers have lost records "
      "that "
      "were read.",
      ": doppel offsets set pages/1=2 --yes");
}

// The end of a transaction is where a record was, in the same topic and in another one.
TEST_P(ReadTopic, WithAMarkerAtTheLastPlaceIsNotTheSame) {
  const auto commit = [&] { ++partition(0).end; };
  kafka.world.broker.lose_tail({"pages", 0}, 1);
  commit();
  add(0, 3);
  expect_error("pages/0 holds no record at offset 4 any more, where one was read: the brokers have lost");
  recreate(2);
  add(0, 4);
  commit();
  add(0, 3);
  const absl::Status status = open();
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_TRUE(read_on(std::chrono::seconds(5)).ok());
  EXPECT_THAT(read, ElementsAre("2/0/0", "2/0/1", "2/0/2", "2/0/3", "2/0/5", "2/0/6", "2/0/7"));
}

// A reload by event time: other records with the same timestamps.
TEST_P(ReadTopic, WithTheTimestampsOfTheFirstIsReadFromItsBeginning) {
  const simulation::Partition before = partition(0);
  recreate(2);
  for (simulation::StoredRecord record : before.records) {
    record.value = "2" + record.value->substr(1);
    kafka.world.broker.append({"pages", 0}, record);
  }
  add(0);
  for (const bool again : {false, true}) {
    if (again) {
      ASSERT_TRUE(open().ok());
    }
    ASSERT_TRUE(read_on(std::chrono::seconds(5)).ok());
    EXPECT_THAT(read, ElementsAre("2/0/0", "2/0/1", "2/0/2", "2/0/3", "2/0/4", "2/0/5"));
  }
}

// The same records in another topic: only the id tells.
TEST_P(ReadTopic, WithTheRecordsOfTheFirstIsKnownByItsId) {
  const std::vector<simulation::Partition> before = topic().partitions;
  recreate(2);
  topic().partitions = before;
  Clock::sleep(kStale);
  add(0);
  ASSERT_TRUE(read_on(std::chrono::seconds(5)).ok());
  EXPECT_EQ(read.size(), GetParam() ? 11U : 1U);
}

// Without ids and after a day, the offsets of the group may have expired.
TEST_P(ReadTopic, OfWhichNothingIsKnownAnyMore) {
  source.reset();
  Clock::sleep(std::chrono::hours(24));
  topic().group.clear();
  kafka.world.broker.lose_tail({"pages", 0}, 2);
  const absl::Status status = open();
  EXPECT_THAT(
      std::string(status.message()),
      HasSubstr(GetParam() ? "the brokers have lost records that were read. Go back to"
                           : "either the topic was deleted and created again, or the brokers have lost"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("doppel offsets set pages/0=2 --yes"));
}

// Retention has removed what could be compared.
TEST_P(ReadTopic, WhoseRecordsAreRemovedGoesOnIfTheGroupKnowsIt) {
  source.reset();
  partition(0).records.clear();
  partition(0).low = 5;
  add(0);
  ASSERT_TRUE(open().ok());
  ASSERT_TRUE(read_on(std::chrono::seconds(1)).ok());
  EXPECT_THAT(read, ElementsAre("1/0/5"));
  source.reset();
  for (simulation::Partition& p : topic().partitions) {
    p.records.clear();
    p.low = p.end;
  }
  topic().group.clear();
  const absl::Status status = open();
  if (GetParam()) {
    EXPECT_TRUE(status.ok()) << status;
  } else {
    EXPECT_THAT(
        std::string(status.message()),
        HasSubstr("the last record that was read from pages is removed, and so are the offsets of the "
                  "group doppel: the topic may be another one. To go on where the first one was read "
                  "to: doppel offsets set pages/0=6 pages/1=5 --yes. To read it from its beginning: "
                  "doppel offsets set pages/0=beginning pages/1=beginning --yes"));
  }
}

TEST_P(ReadTopic, ThatDeletedUnreadRecordsIsAnErrorUnlessItMayGoOn) {
  add(0, 10);
  partition(0).low = 8;
  std::erase_if(partition(0).records, [](const auto& r) { return r.offset < 8; });
  expect_error("pages/0 begins at offset 8, but it was read only up to 5: 3 records were deleted unread",
               "set kafka.on_data_loss: continue");
  options.continue_after_loss = true;
  ASSERT_TRUE(open().ok());
  ASSERT_TRUE(read_on(std::chrono::milliseconds(100)).ok());
  EXPECT_THAT(read, ElementsAre("1/0/8", "1/0/9", "1/0/10", "1/0/11", "1/0/12", "1/0/13", "1/0/14"));
}

TEST_P(ReadTopic, GoesOnBehindUnreadRecordsThatAreDeletedWhileItReads) {
  options.continue_after_loss = true;
  ASSERT_TRUE(open().ok());
  add(0, 10);
  add(1);
  partition(0).low = 14;
  std::erase_if(partition(0).records, [](const auto& r) { return r.offset < 14; });
  ASSERT_TRUE(read_on(std::chrono::seconds(1)).ok());
  EXPECT_THAT(read, ElementsAre("1/1/5", "1/0/14"));
}

TEST_P(ReadTopic, ThatIsAwayForHalfAMinuteIsDeleted) {
  hide(std::chrono::seconds(29));
  ASSERT_TRUE(read_on(std::chrono::seconds(29)).ok());
  add(0);
  ASSERT_TRUE(read_on(std::chrono::seconds(3)).ok());
  EXPECT_THAT(read, ElementsAre("1/0/5"));
  hide(std::chrono::seconds(60));
  const auto begin = Clock::now();
  const absl::Status status = read_on(std::chrono::seconds(60));
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("the input topic pages has been deleted: no broker has known it for 30 s"));
  EXPECT_GE(Clock::now() - begin, std::chrono::seconds(30));
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(34));
}

// A partition that comes later is read from its beginning, also if its first records are older than the
// source.
TEST_F(ChangingTopic, StartsAtTheEndOnlyWhereNothingWasReadBefore) {
  options.from_latest = true;
  add(0, 3);
  ASSERT_TRUE(open().ok());
  ASSERT_EQ(source->beginnings().size(), 2u);
  EXPECT_EQ(source->beginnings()[0].next, 3);
  EXPECT_EQ(source->beginnings()[1].next, 0);
  topic().partitions.resize(3);
  add(2, 2);
  add(0);
  ASSERT_TRUE(read_on(std::chrono::seconds(2)).ok());
  EXPECT_THAT(read, ::testing::UnorderedElementsAre("1/0/3", "1/2/0", "1/2/1"));
  EXPECT_EQ(source->partitions(), 3u);

  topic().partitions.resize(4);
  add(3);
  ASSERT_TRUE(open().ok());
  ASSERT_EQ(source->beginnings().size(), 2u);  // of partitions without progress
  EXPECT_EQ(source->beginnings()[1].partition, 3);
  EXPECT_EQ(source->beginnings()[1].next, 0);
}

TEST_F(ChangingTopic, IsAwaitedUntilItIsThere) {
  kafka.world.broker.topics.erase("pages");
  ASSERT_TRUE(open().ok());
  EXPECT_EQ(source->partitions(), 0u);
  ASSERT_TRUE(read_on(std::chrono::seconds(100)).ok());  // it has not been deleted
  recreate(1);
  add(0, 2);
  ASSERT_TRUE(read_on(std::chrono::seconds(2)).ok());
  EXPECT_THAT(read, ElementsAre("2/0/0", "2/0/1"));
}

// Each missing one is named, again after a while, whatever else is configured.
TEST_F(ChangingTopic, SaysWhichTopicsAreMissing) {
  options.topics.names = {"^pag.*", "pages", "one", "two"};
  const auto said = [&](const std::string& topic) {
    const std::string text = ::testing::internal::GetCapturedStderr();
    size_t count = 0;
    for (size_t at = 0; (at = text.find("topic=" + topic, at)) != std::string::npos; ++at) ++count;
    ::testing::internal::CaptureStderr();
    return count;
  };
  ::testing::internal::CaptureStderr();
  ASSERT_TRUE(open().ok());
  EXPECT_EQ(said("one"), 1u);
  add(0);
  ASSERT_TRUE(read_on(std::chrono::seconds(20)).ok());
  EXPECT_EQ(said("two"), 0u);
  ASSERT_TRUE(read_on(std::chrono::seconds(600)).ok());
  const size_t again = said("two");
  EXPECT_GE(again, 9u);
  EXPECT_LE(again, 10u);
  EXPECT_THAT(read, ElementsAre("1/0/0"));
  ::testing::internal::GetCapturedStderr();
}

}  // namespace
}  // namespace doppel::kafka_test
