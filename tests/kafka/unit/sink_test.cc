// What the sink publishes of a batch.
#include "kafka/sink.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "kafka/unit/sink_in_memory.h"

namespace doppel::kafka_test {
namespace {

using kafka::EventKey;
using kafka::Transactor;
using simulation::StoredRecord;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(SinkInMemory, PublishesEachDecision) {
  Input bad = page("c", "");
  bad.value = "no JSON";
  bad.headers = {{"h", "v"}};
  ASSERT_TRUE(run({{page("a", text(1)), page("b", text(1)), bad}, {page("d", text(2)), removal("a")}}).ok());
  EXPECT_THAT(events(), ElementsAre("duplicate-of pages/0/1, b", "original-removed pages/0/0/removed, a"));
  EXPECT_THAT(log(), ElementsAre("row 0 a", "pages/0 next 3 of 1 last 0 highest 0", "(3)", "row 1 d",
                                 "removed 0", "pages/0 next 5 of 1 last 0 highest 0", "(4)"));
  std::vector<std::string> copies;
  for (const StoredRecord& r : kafka.committed("copies")) {
    EXPECT_EQ(r.timestamp_ms, 1'600'000'000'000);
    copies.push_back(*r.key + " " + *r.value);
  }
  EXPECT_THAT(copies, ElementsAre("a " + *page("a", text(1)).value, "d " + *page("d", text(2)).value));
  ASSERT_EQ(kafka.committed("dead").size(), 1u);
  const StoredRecord letter = kafka.committed("dead")[0];
  EXPECT_EQ(letter.key, "c");
  EXPECT_EQ(letter.value, "no JSON");
  EXPECT_EQ(letter.timestamp_ms, 1'600'000'000'000);
  std::vector<std::string> headers;
  for (const auto& [name, value] : letter.headers) headers.push_back(name + "=" + value.value_or("null"));
  headers.pop_back();  // the message is the decoder's
  EXPECT_THAT(headers, ElementsAre("h=v", "__connect.errors.topic=pages", "__connect.errors.partition=0",
                                   "__connect.errors.offset=2", "__connect.errors.connector.name=doppel",
                                   "__connect.errors.stage=SIGN"));
  EXPECT_EQ(sink->where().log_offset, kafka.committed("log").back().offset + 1);
  EXPECT_EQ(sink->missing(), 0u);
}

TEST_F(SinkInMemory, EventsHaveTheKeyThatIsSet) {
  const std::vector<std::vector<Input>> batches{{page("a", text(1)), page("b", text(1))}, {removal("a")}};
  options.key = EventKey::cluster_id;
  ASSERT_TRUE(run(batches).ok());
  EXPECT_THAT(events(), ElementsAre("duplicate-of pages/0/1, pages/0/0",
                                    "original-removed pages/0/0/removed, pages/0/0"));
}

TEST_F(SinkInMemory, EventsMayHaveTheNameOfTheOriginal) {
  options.key = EventKey::original_id;
  options.all_verdicts = true;
  Input without = page("", text(3));
  without.key.reset();
  ASSERT_TRUE(run({{page("a", text(1)), page("b", text(1)), without, removal("z")}}).ok());
  EXPECT_THAT(events(), ElementsAre("verdict pages/0/0, a", "duplicate-of pages/0/1, a",
                                    "verdict pages/0/2, pages/0/2"));
}

TEST_F(SinkInMemory, AllVerdictsHaveEventsIfTheyAreWanted) {
  options.all_verdicts = true;
  options.unique.name.clear();
  Input bad = page("c", "");
  bad.value = "no JSON";
  ASSERT_TRUE(run({{page("a", text(1)), page("b", text(1)), bad, page("s", ""), removal("z")}}).ok());
  EXPECT_THAT(events(), ElementsAre("verdict pages/0/0, a", "duplicate-of pages/0/1, b",
                                    "verdict pages/0/2, c", "verdict pages/0/3, s"));
  EXPECT_EQ(letters("__connect.errors.stage"), std::vector<std::string>{"SIGN"});
  EXPECT_THAT(kafka.committed("copies"), IsEmpty());
}

TEST_F(SinkInMemory, ARebuildFillsTheLogOnly) {
  options.events_off = true;
  Input bad = page("c", "");
  bad.value = "no JSON";
  ASSERT_TRUE(run({{page("a", text(1)), page("b", text(1)), bad}, {removal("a")}}).ok());
  EXPECT_THAT(events(), IsEmpty());
  EXPECT_THAT(kafka.committed("dead"), IsEmpty());
  EXPECT_THAT(kafka.committed("copies"), IsEmpty());
  EXPECT_THAT(log(), ElementsAre("row 0 a", "pages/0 next 3 of 1 last 0 highest 0", "(3)", "removed 0",
                                 "pages/0 next 4 of 1 last 0 highest 0", "(3)"));
}

TEST_F(SinkInMemory, NotesProgressOfEachPartitionThatMoved) {
  options.generation = "g";
  Input late = page("b", text(2)), other = page("c", text(3)), again = page("d", text(4));
  late.timestamp_ms += 700;
  other.partition = 1;
  other.timestamp_ms -= 5;
  again.partition = 1;
  again.incarnation = 2;
  ASSERT_TRUE(run({{page("a", text(1)), other, late, page("e", text(5))}, {page("f", text(6))}}).ok());
  offsets[1] = 0;  // the topic was created again
  ASSERT_TRUE(run({{again}}).ok());
  std::vector<std::string> progress;
  for (const std::string& line : log())
    if (!line.starts_with("row")) progress.push_back(line);
  EXPECT_THAT(progress,
              ElementsAre("pages/0 next 3 of 1 last 0 highest 700", "pages/1 next 1 of 1 last -5 highest -5",
                          "cut g 1", "(8)", "pages/0 next 4 of 1 last 0 highest 700", "cut g 2", "(4)",
                          "pages/1 next 1 of 2 last 0 highest 0", "cut g 3", "(4)"));
  EXPECT_EQ(sink->where().progress.size(), 2u);
}

// A line of a crawl whose archive is gone.
Input missing(const std::string& key) {
  Input out = page(key, "");
  out.value =
      R"({"url":"http://example.com/","status_code":200,"warc_filename":"a.warc.gz","warc_offset":3})";
  out.not_fetched = "the archive is gone";
  return out;
}

TEST_F(SinkInMemory, DocumentsThatCannotBeFetchedAreNoted) {
  format.format = "heritrix";
  ASSERT_TRUE(run({{missing("a"), missing("b")}}).ok());
  EXPECT_THAT(log(), ElementsAre("missing pages/0 0 the archive is gone",
                                 "missing pages/0 1 the archive is gone", HasSubstr("next 2"), "(4)"));
  EXPECT_EQ(sink->missing(), 2u);
  EXPECT_THAT(letters("__connect.errors.offset"), ElementsAre("0", "1"));
}

TEST_F(SinkInMemory, AMissingDocumentStopsIfItMust) {
  options.missing_stops = true;
  format.format = "heritrix";
  Input known = missing("a");
  known.known_missing = true;
  ASSERT_TRUE(run({{known}}).ok());
  EXPECT_EQ(sink->missing(), 1u);
  const absl::Status status = run({{missing("b")}});
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("pages/0 at offset 1 cannot be read"));
  EXPECT_EQ(sink->missing(), 1u);
}

// ---- the end of originals, and batches without documents

TEST_F(SinkInMemory, AnnouncesExpiredOriginalsInSteps) {
  engine_options.rule.expire_after_ms = 1'000;
  engine_options.rule.generation = 64;
  engine_options.rule.watermark_rank = 1;
  options.unique.name.clear();
  std::vector<Input> old;
  for (int i = 0; i < 2'300; ++i) old.push_back(page(fmt::format("{}", i), text(i)));
  ASSERT_TRUE(run({old}).ok());
  EXPECT_FALSE(sink->has_more_to_do());
  std::vector<Input> news;
  for (int i = 5'000; i < 5'003; ++i) {
    news.push_back(page(fmt::format("{}", i), text(i)));
    news.back().timestamp_ms += 100'000;
  }
  ASSERT_TRUE(run({news}).ok());
  ASSERT_TRUE(sink->has_more_to_do());
  EXPECT_EQ(sink->where().expire.announced, 2'000u);
  ASSERT_TRUE(run({{}}).ok());
  EXPECT_FALSE(sink->has_more_to_do());
  EXPECT_EQ(sink->where().expire.announced, sink->where().expire.lowest_live);
  EXPECT_GE(sink->where().expire.announced, 2'300u - 64);
  std::vector<std::string> removed;
  for (const std::string& event : events())
    if (event.starts_with("original-removed")) removed.push_back(event);
  ASSERT_EQ(removed.size(), sink->where().expire.announced);
  EXPECT_EQ(removed[0], "original-removed pages/0/0/removed, 0");
  EXPECT_EQ(removed.back(), fmt::format("original-removed pages/0/{0}/removed, {0}", removed.size() - 1));
  const std::vector<std::string> all = log();
  EXPECT_THAT(all, ::testing::Contains("dropped 0"));
  EXPECT_EQ(std::count_if(all.begin(), all.end(), [](const auto& l) { return l.starts_with("dropped"); }),
            static_cast<long>(removed.size()));
  EXPECT_EQ(all[all.size() - 2], fmt::format("expire {0} announced {0}", removed.size()));
}

TEST_F(SinkInMemory, ThePositionIsRefreshedFromTimeToTime) {
  options.refresh_ms = 5'000;
  ASSERT_TRUE(run({{page("a", text(1))}}).ok());
  EXPECT_FALSE(sink->has_more_to_do());
  kafka.world.scheduler.sleep(std::chrono::milliseconds(4'900));
  EXPECT_FALSE(sink->has_more_to_do());
  kafka.world.scheduler.sleep(std::chrono::milliseconds(200));
  EXPECT_TRUE(sink->has_more_to_do());
  const auto commits = kafka.world.broker.did.commits;
  const int64_t before = sink->where().covered_ms;
  ASSERT_TRUE(run({{}}).ok());
  EXPECT_FALSE(sink->has_more_to_do());
  EXPECT_GE(sink->where().covered_ms, before + 5'100);
  EXPECT_EQ(sink->where().log_offset, kafka.world.broker.topics.at("log").partitions[0].end);
  EXPECT_EQ(kafka.world.broker.did.commits, commits);  // it only looks
}

TEST_F(SinkInMemory, ABrokerThatIsAwayLeavesThePositionOfAnEmptyBatch) {
  ASSERT_TRUE(run({{page("a", text(1))}}).ok());
  kafka.world.scheduler.sleep(std::chrono::milliseconds(10));
  const int64_t before = sink->where().covered_ms;
  kafka.world.away_until = kafka.world.scheduler.now() + std::chrono::seconds(60);
  ASSERT_TRUE(run({{}}).ok());
  EXPECT_EQ(sink->where().covered_ms, before);
  EXPECT_TRUE(sink->still_ours().ok());
  EXPECT_TRUE(sink->idle().ok());
}

TEST_F(SinkInMemory, AnotherProcessIsNoticedWithoutDocuments) {
  ASSERT_TRUE(run({{page("a", text(1))}}).ok());
  EXPECT_TRUE(sink->idle().ok());
  EXPECT_TRUE(sink->still_ours().ok());
  ASSERT_TRUE(Transactor::open(kafka.process(), transactor_options("other"), [] { return false; }).ok());
  EXPECT_TRUE(sink->idle().ok());  // it has just looked
  kafka.world.scheduler.sleep(std::chrono::seconds(3));
  const absl::Status idle = sink->idle();
  EXPECT_TRUE(absl::IsAborted(idle)) << idle;
  EXPECT_THAT(idle.message(), HasSubstr("another process (other)"));
  EXPECT_TRUE(absl::IsAborted(sink->still_ours()));
}

}  // namespace
}  // namespace doppel::kafka_test
