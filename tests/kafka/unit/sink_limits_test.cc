// What the sink does about records that are larger than a topic accepts.
#include "kafka/sink.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kafka/unit/sink_in_memory.h"

namespace doppel::kafka_test {
namespace {

using kafka::KafkaSink;
using simulation::StoredRecord;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(SinkInMemory, ACopyThatDoesNotFitIsADeadLetter) {
  options.unique.message_bytes_max = 700;
  const Input large = page("a", text(1));
  ASSERT_GT(large.value->size(), 200u);
  ASSERT_TRUE(run({{large, page("b", text(1))}}).ok());
  EXPECT_THAT(kafka.committed("copies"), IsEmpty());
  EXPECT_THAT(letters("__connect.errors.stage"), ElementsAre("UNIQUE"));
  EXPECT_THAT(letters("__connect.errors.exception.message"),
              ElementsAre(fmt::format("the document has {} bytes, more than the topic copies accepts (700)",
                                      large.value->size() + 1)));
  EXPECT_THAT(events(), ElementsAre("duplicate-of pages/0/1, b"));
}

TEST_F(SinkInMemory, AnEventThatDoesNotFitIsADeadLetter) {
  options.events.message_bytes_max = 1'400;
  options.all_verdicts = true;
  Input bad = page(std::string(1'000, 'k'), "");
  bad.value = "no JSON";
  ASSERT_TRUE(
      run({{page("a", text(1)), page(std::string(1'000, 'k'), text(1)), bad, page("b", text(1))}}).ok());
  EXPECT_THAT(events(), ElementsAre("verdict pages/0/0, a", "duplicate-of pages/0/3, b"));
  EXPECT_THAT(letters("__connect.errors.stage"), ElementsAre("EVENT", "SIGN"));  // not twice
  EXPECT_THAT(letters("__connect.errors.exception.message")[0],
              HasSubstr("bytes with its key, more than the topic events accepts (1400)"));
}

// First the value is left out, then the key, then the headers.
TEST_F(SinkInMemory, ALargeDeadLetterLosesWhatDoesNotFit) {
  options.dead_letters.message_bytes_max = 4'000;
  options.unique.name.clear();
  const std::string long_one(5'000, 'x');
  Input value = page("key", "");
  value.value = long_one;
  value.headers = {{"h", "v"}};
  Input key = value;
  key.key = long_one;
  Input headers = value;
  headers.headers = {{"h", long_one}};
  Input all = key;
  all.headers = headers.headers;
  ASSERT_TRUE(run({{value, key, headers, all}}).ok());
  EXPECT_THAT(letters("doppel.left_out_bytes"), ElementsAre("5000", "5000", "5000", "5000"));
  EXPECT_THAT(letters("doppel.left_out_key_bytes"), ElementsAre("", "5000", "", "5000"));
  EXPECT_THAT(letters("doppel.left_out_headers"), ElementsAre("", "", "1", "1"));
  EXPECT_THAT(letters("h"), ElementsAre("v", "v", "", ""));
  const auto records = kafka.committed("dead");
  for (const StoredRecord& r : records) EXPECT_EQ(r.value, std::nullopt);
  EXPECT_EQ(records[0].key, "key");
  EXPECT_EQ(records[1].key, std::nullopt);
}

TEST_F(SinkInMemory, ATopicThatTakesNoDeadLetterIsAnError) {
  options.dead_letters.message_bytes_max = 1'511;
  Input bad = page("c", "");
  bad.value = "no JSON";
  const absl::Status status = run({{bad}});
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("the topic dead accepts records of 1511 bytes, too few"));
  options.dead_letters.message_bytes_max = 1'512;
  sink.reset();
  EXPECT_TRUE(run({{bad}}).ok());
}

TEST_F(SinkInMemory, AnEventThatCannotBeShorterIsAnErrorOrLosesItsKey) {
  const std::string key(900, 'k');
  options.events.message_bytes_max = 2'000;
  ASSERT_TRUE(run({{page(key, text(1))}, {removal(key)}}).ok());
  EXPECT_THAT(events(), ElementsAre("original-removed pages/0/0/removed, no key"));
  options.events.message_bytes_max = 530;
  sink.reset();
  originals.all.clear();
  const absl::Status status = run({{page(key, text(1))}, {removal(key)}});
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("the topic events accepts records of 530 bytes, and the shortest "
                                          "original-removed event has "));
}

// ---- a limit that is lowered while doppel runs

TEST_F(SinkInMemory, LearnsThatATopicTakesSmallerRecords) {
  ASSERT_TRUE(run({{page("a", text(1))}}).ok());
  limit("copies", 300);
  ASSERT_TRUE(run({{page("b", text(2)), page("c", text(2))}}).ok());
  EXPECT_EQ(kafka.committed("copies").size(), 1u);
  EXPECT_THAT(letters("__connect.errors.exception.message"),
              ElementsAre(HasSubstr("more than the topic copies accepts (300)")));
  EXPECT_THAT(events(), ElementsAre("duplicate-of pages/0/2, c"));
  EXPECT_EQ(transactor->stats().commits, 2u);
}

TEST_F(SinkInMemory, AnIndexLogThatTakesSmallerRecordsIsAnError) {
  ASSERT_TRUE(run({{page("a", text(1))}}).ok());
  limit("log", 200);
  const absl::Status status = run({{page("b", text(2))}});
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("the index log log refuses a record of "));
  EXPECT_THAT(status.message(), HasSubstr("was lowered from 1000000 to 200"));
}

// A topic that takes less than it says: the sink tries smaller records until one fits.
TEST_F(SinkInMemory, ATopicThatTakesLessThanItSaysGetsSmallerRecords) {
  options.unique.message_bytes_max = 1'000;
  limit("copies", 300);
  start();
  // It says 1,000 from now on, as if the leader knew better.
  class Liar final : public simulation::LifeCluster {
   public:
    using LifeCluster::LifeCluster;
    absl::StatusOr<std::vector<std::string>> topic_configs(const std::string&,
                                                           const std::vector<std::string>&) override {
      ++asked;
      return std::vector<std::string>{"1000"};
    }
    int asked = 0;
  };
  Liar liar(kafka.world, 9, {});
  liar.task = 0;
  sink = std::make_unique<KafkaSink>(liar, options, *engine, originals, *transactor, sink->where());
  ASSERT_TRUE(run({{page("a", text(1))}}).ok());
  EXPECT_GT(liar.asked, 10);  // for three seconds
  EXPECT_THAT(letters("__connect.errors.stage"), ElementsAre("UNIQUE"));
  EXPECT_THAT(kafka.committed("copies"), IsEmpty());
}

}  // namespace
}  // namespace doppel::kafka_test
