// Changes of topics under the daemon: records deleted unread, topics created again, partitions added, logs
// compacted.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kafka/case.h"

namespace doppel::testing {
namespace {

using ::testing::HasSubstr;

TEST(Topics, RecordsDeletedUnreadStopTheStart) {
  Case c;
  c.produce_next(200);
  const auto daemon = c.start();
  c.await_all(*daemon);
  Case::stop(*daemon);
  const Offsets read = ends_of(c.messages, c.produced);
  c.produce_next(200);
  const auto& [place, end] = *read.begin();
  c.client.delete_records(place.first, place.second, end + 5);
  const auto refused = c.setup.serve();
  EXPECT_EQ(refused->await_exit(), 3) << refused->said();
  EXPECT_THAT(refused->said(), HasSubstr("5 records were deleted unread"));

  c.setup.set({{"kafka.on_data_loss", "continue"}});
  const auto goes_on = c.start();
  EXPECT_THAT(goes_on->said(), HasSubstr("input is lost"));
  c.await_all(*goes_on);
  Case::stop(*goes_on);
}

TEST(Topics, ATopicThatWasMadeAnewIsRefused) {
  for (const size_t documents : {20U, 600U}) {  // fewer than were read, and more
    Case c(IndexSetup::Settings{{"kafka.on_recreated", "stop"}});
    c.produce_next(300);
    const auto daemon = c.start();
    c.await_all(*daemon);
    Case::stop(*daemon);
    c.client.delete_topic(c.setup.input());
    c.client.create_topic(c.setup.input(), 3);
    std::vector<Message> others = make_workload(
        {.seed = 5, .documents = documents, .topics = c.setup.inputs(), .first_ms = 1'600'000'000'000});
    produce(c.client, others, 0, others.size());
    const auto refused = c.setup.serve();
    EXPECT_EQ(refused->await_exit(), 3) << refused->said();
    EXPECT_THAT(refused->said(), HasSubstr("created again"));
  }
}

// Copies keep the documents' timestamps, here years old; the broker would delete them after a week.
TEST(Topics, CopiesOfOldDocumentsStay) {
  Case c(IndexSetup::Settings{{"output.unique_topic", "~-unique"}});
  const Options& options = c.setup.options();
  // A century: doppel warns, but nothing is deleted during the test.
  c.client.create_topic(options.output.dead_letters, 1, {{"retention.ms", "3153600000000"}});
  const auto daemon = c.start();
  EXPECT_THAT(daemon->said(), HasSubstr("loses copies of old documents"));
  EXPECT_EQ(c.client.topic_configs(options.output.unique_topic)["retention.ms"], "-1");
  c.finish(*daemon);
}

TEST(Topics, APartitionThatIsAddedIsReadFromItsBeginning) {
  Case c(IndexSetup::Settings{{"kafka.properties.topic.metadata.refresh.interval.ms", "200"}});
  c.produce_next(200);
  const auto daemon = c.start();
  c.await_all(*daemon);
  c.client.add_partitions(c.setup.input(), 5);
  for (size_t i = c.produced; i < c.messages.size(); ++i)
    c.messages[i].partition = static_cast<int32_t>(i % 5);
  c.produce_next(200);
  EXPECT_TRUE(daemon->await_line("a new partition")) << daemon->said();
  c.finish(*daemon);
}

// Old records are really gone from the log, and an index is made from the rest.
TEST(Topics, ACompactedLogMakesTheSameIndex) {
  Case c({{"tombstones", "key"}, {"on_update", "replace"}, {"kafka.batch_documents", "20"}});
  c.client.create_topic(c.setup.options().kafka.index_log, 1,
                        {{"cleanup.policy", "compact"},
                         {"max.message.bytes", "4000000"},
                         {"segment.bytes", "1048576"},
                         {"segment.ms", "500"},
                         {"min.cleanable.dirty.ratio", "0.001"},
                         {"max.compaction.lag.ms", "500"}});
  c.produce_next(400);
  const auto daemon = c.start();
  c.await_all(*daemon);
  const auto read_log = [&] { return read_all(c.setup.bootstrap(), c.setup.options().kafka.index_log); };
  const std::vector<Message> before = read_log();
  const int64_t end = before.back().offset;
  // A segment is closed when a later record comes; then the cleaner runs.
  const auto deadline = Reader::Clock::now() + std::chrono::seconds(60);
  size_t left = before.size();
  while (left == before.size() && Reader::Clock::now() < deadline) {
    if (c.produced < 500) c.produce_next(1);
    const std::vector<Message> now = read_log();
    left = std::count_if(now.begin(), now.end(), [&](const Message& m) { return m.offset <= end; });
  }
  EXPECT_LT(left, before.size()) << "the cleaner did not come";
  c.await_all(*daemon);
  Case::stop(*daemon);
  EXPECT_EQ(c.setup.compare_with_rebuilt(), "");

  // The documents continue with the index that was made from it.
  c.setup.set({{"state.directory", c.setup.path("from-the-log")}});
  const auto again = c.start();
  c.produce_next(c.messages.size());
  c.await_all(*again);
  Case::stop(*again);
  EXPECT_EQ(c.setup.compare_with_rebuilt(), "");
}

TEST(Topics, WhatCannotBeReadOrIsTooLargeIsADeadLetter) {
  Case c;
  c.client.create_topic(c.setup.options().output.topic, 1, {{"max.message.bytes", "3000"}});
  const auto text = [](int words, const std::string& word) {
    std::string out;
    for (int i = 0; i < words; ++i) out += word + std::to_string(i) + " ";
    return out;
  };
  std::vector<Message> poison(6);
  poison[0].value = R"({"id":"a","text":")" + text(100, "original") + "\"}";
  poison[1].value = R"({"id":"a copy","url":"https://example.org/)" + std::string(4000, 'u') +
                    R"(","text":")" + text(100, "original") + "\"}";
  poison[2].value = "{";
  poison[3].value = R"({"id":"large","text":")" + text(5'600'000, "large") + "\"}";
  poison[4].value = R"({"id":"x","text":"x"})";
  poison[4].headers = {{"", "\xff\xfe"}, {"n", std::nullopt}, {"h", std::string(100'000, 'h')}};
  poison[5].value = R"({"id":")" + std::string(100'000, 'i') + R"(","text":"y"})";
  for (size_t i = 0; i < poison.size(); ++i) poison[i].key = "p" + std::to_string(i);
  const auto daemon = c.start();
  c.client.produce(c.setup.input(), poison);
  c.produced = poison.size();
  c.await_all(*daemon);
  Case::stop(*daemon);
  const Verification result = c.setup.verify();
  EXPECT_TRUE(result.findings.empty()) << result.text() << "\n" << daemon->said();
  std::map<std::string, std::string> stages;
  for (const Message& m : read_all(c.setup.bootstrap(), c.setup.options().output.dead_letters))
    stages[m.key.value_or("")] = m.header("__connect.errors.stage");
  EXPECT_EQ(stages["p1"], "EVENT");
  EXPECT_EQ(stages["p2"], "SIGN");
  EXPECT_EQ(stages["p5"], "SIGN");
  EXPECT_EQ(stages.size(), 3U);
}

}  // namespace
}  // namespace doppel::testing
