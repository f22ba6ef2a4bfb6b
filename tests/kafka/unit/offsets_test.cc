// Offsets that a person chooses: their text, a file of them, and what they mean in a partition.
#include "kafka/log/offsets.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "kafka/same_topic.h"
#include "kafka/unit/simulated.h"
#include "temporary_directory.h"

namespace doppel::kafka_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using At = ChosenOffset::At;

std::string text_of(const absl::StatusOr<ChosenOffset>& chosen) {
  if (!chosen.ok()) return std::string(chosen.status().message());
  const char* const names[] = {"offset", "beginning", "end", "time", "end_at"};
  return fmt::format("{}/{} {} {}", chosen->place.topic, chosen->place.partition,
                     names[static_cast<int>(chosen->at)], chosen->value);
}

TEST(ChosenOffsets, AreAnOffsetAnEndOrATime) {
  EXPECT_EQ(text_of(parse_chosen_offset("a/0=12")), "a/0 offset 12");
  EXPECT_EQ(text_of(parse_chosen_offset("a/b/12=0")), "a/b/12 offset 0");
  EXPECT_EQ(text_of(parse_chosen_offset("a/0=beginning")), "a/0 beginning 0");
  EXPECT_EQ(text_of(parse_chosen_offset("a/0=end")), "a/0 end 0");
  EXPECT_EQ(text_of(parse_chosen_offset("a/0=999999999999")), "a/0 offset 999999999999");
  EXPECT_EQ(text_of(parse_chosen_offset("a/0=1600000000123")), "a/0 time 1600000000123");
  EXPECT_EQ(text_of(parse_chosen_offset("a/0=2020-09-13T12:26:40Z")), "a/0 time 1600000000000");
  for (const char* bad : {"", "a", "a/0", "a=1", "/0=1", "a/x=1", "a/-1=1", "a/=1", "=1"})
    EXPECT_THAT(text_of(parse_chosen_offset(bad)), HasSubstr("is not of the form TOPIC/PARTITION=WHERE"))
        << bad;
  EXPECT_THAT(text_of(parse_chosen_offset("a/0=")), HasSubstr("\"a/0=\": nothing is not an offset"));
  EXPECT_THAT(text_of(parse_chosen_offset("a/0=-1")), HasSubstr("\"a/0=-1\": -1 is not an offset"));
  EXPECT_THAT(text_of(parse_chosen_offset("a/0=soon")), HasSubstr("soon is not an offset"));
}

TEST(ChosenOffsets, AFileHasALineForEachPartition) {
  const TemporaryDirectory dir;
  const auto read = [&](const std::string& text) {
    std::ofstream(dir / "offsets") << text;
    const auto all = read_chosen_offsets(dir / "offsets");
    if (!all.ok()) return std::string(all.status().message()).substr(dir.path().size() + 1);
    std::string out;
    for (const ChosenOffset& one : *all) out += text_of(one) + "; ";
    return out;
  };
  EXPECT_EQ(read(""), "");
  EXPECT_EQ(read("# a comment\n\n  a/0=1\t\r\n \n#a/0=7\nb/1=end"), "a/0 offset 1; b/1 end 0; ");
  EXPECT_THAT(read("a/0\n"), HasSubstr("offsets:1: \"a/0\" is not of the form"));
  EXPECT_THAT(read("# x\na/0=1\n\na/1=no\n"), HasSubstr("offsets:4: \"a/1=no\": no is not an offset"));
  EXPECT_EQ(read("a/0=1\na/1=1\na/0=2\n"), "offsets:3: a/0 has a line already");
  EXPECT_THAT(read_chosen_offsets(dir / "none").status().message(), HasSubstr("cannot be read; name a file"));
}

class ChosenInMemory : public ::testing::Test {
 protected:
  ChosenInMemory() {
    kafka.topic("pages", 2);
    simulation::Partition& partition = kafka.world.broker.topics["pages"].partitions[0];
    for (int i = 0; i < 10; ++i) {
      simulation::StoredRecord record;
      record.timestamp_ms = 1'600'000'000'000 + i * 1000;
      kafka.world.broker.append({"pages", 0}, record);
    }
    partition.low = 3;
    partition.records.erase(partition.records.begin(), partition.records.begin() + 3);
    position.progress[{"pages", 0}] = {
        .topic = "pages", .partition = 0, .next = 7, .last_ms = 1'600'000'006'000, .highest_ms = 9};
    position.progress[{"pages", 1}] = {.topic = "pages", .partition = 1};
    position.progress[{"gone", 0}] = {.topic = "gone", .partition = 0};
  }
  std::string offset(const std::string& text) {
    const auto found = offset_of(parse_chosen_offset(text).value(), kafka.process());
    return found.ok() ? std::to_string(*found) : std::string(found.status().message());
  }
  std::vector<std::string> plan(const std::string& line) {
    const auto wanted = OffsetsWanted::parse(line);
    if (!wanted.ok()) return {std::string(wanted.status().message())};
    const auto changes = plan_offsets(*wanted, position, inputs, kafka.process());
    if (!changes.ok()) return {std::string(changes.status().message())};
    std::vector<std::string> out;
    for (const OffsetChange& change : *changes) out.push_back(change.text());
    return out;
  }
  Simulated kafka{1};
  kafka::KafkaPosition position;
  kafka::Inputs inputs{.names = {"gone", "^new"}, .never = {}};
};

TEST_F(ChosenInMemory, AreFoundInThePartition) {
  EXPECT_EQ(offset("pages/0=beginning"), "3");
  EXPECT_EQ(offset("pages/0=end"), "10");
  EXPECT_EQ(offset("pages/0=3"), "3");
  EXPECT_EQ(offset("pages/0=10"), "10");
  EXPECT_EQ(offset("pages/0=2"), "pages/0 has the offsets 3 to 10 (its end), not 2");
  EXPECT_EQ(offset("pages/0=11"), "pages/0 has the offsets 3 to 10 (its end), not 11");
  EXPECT_EQ(offset("pages/0=1600000004001"), "5");
  EXPECT_EQ(offset("pages/0=1600000009001"), "10");  // newer than all
}

// A request may be carried out minutes after it was made.
TEST_F(ChosenInMemory, AnEndAndATimeAreFixedWhenTheyAreAskedFor) {
  const auto fix = [&](const std::string& text) {
    return fixed(parse_chosen_offset(text).value(), kafka.process()).value().text();
  };
  EXPECT_EQ(fix("pages/0=end"), "pages/0=end@10");
  EXPECT_EQ(fix("pages/0=end@8"), "pages/0=end@8");
  EXPECT_EQ(fix("pages/0=1600000004001"), "pages/0=5");
  EXPECT_EQ(fix("pages/0=1600000009001"), "pages/0=end@10");
  EXPECT_EQ(fix("pages/0=6"), "pages/0=6");
  EXPECT_EQ(fix("pages/0=beginning"), "pages/0=beginning");
  EXPECT_EQ(OffsetsWanted::parse("set pages/0=end@10 pages/1=beginning pages/2=12").value().line(),
            "set pages/0=end@10 pages/1=beginning pages/2=12");
  EXPECT_EQ(OffsetsWanted::parse("forget pages").value().line(), "forget pages");
  const auto from = [&](const std::string& text, int64_t next) {
    return offset_of(parse_chosen_offset(text).value(), kafka.process(), next).value();
  };
  EXPECT_EQ(from("pages/0=end@8", 7), 8);
  EXPECT_EQ(from("pages/0=end@8", 9), 9);    // the daemon has read on meanwhile
  EXPECT_EQ(from("pages/0=end@8", 12), 10);  // the partition has lost its tail
}

TEST_F(ChosenInMemory, ATopicThatIsReadIsNotForgotten) {
  for (const char* topic : {"gone", "news"})
    EXPECT_THAT(plan(fmt::format("forget {}", topic)),
                ElementsAre(HasSubstr(fmt::format("{} is read (kafka.topics)", topic))));
  EXPECT_THAT(plan("forget pages"), ::testing::SizeIs(2));
}

TEST_F(ChosenInMemory, ARequestSaysWhatItChanges) {
  EXPECT_THAT(plan("set pages/0=10  pages/1=end"), ElementsAre("pages/0: 7 -> 10 (3 records are skipped)",
                                                               "pages/1: 0 -> 0 (0 records are skipped)"));
  EXPECT_THAT(plan("set pages/0=6"), ElementsAre("pages/0: 7 -> 6 (1 record is judged again)"));
  EXPECT_THAT(plan("set pages/0=8"), ElementsAre("pages/0: 7 -> 8 (1 record is skipped)"));
  EXPECT_THAT(plan("forget pages"),
              ElementsAre("pages/0: 7 -> forgotten; it begins at kafka.start if it is read again",
                          "pages/1: 0 -> forgotten; it begins at kafka.start if it is read again"));
  EXPECT_THAT(plan("forget old"), ElementsAre("the index has not read a topic old"));
  EXPECT_THAT(plan("set news/0=1"), ElementsAre("the index has not read news/0: it begins at kafka.start"));
  EXPECT_THAT(plan("set gone/0=1"), ElementsAre("gone/0 does not exist now"));
  EXPECT_THAT(plan("set pages/0=99"), ElementsAre(HasSubstr("has the offsets 3 to 10")));
  EXPECT_THAT(plan("pages/0=99"), ElementsAre("a request for offsets must begin with set or forget"));
}

// Brokers lost records, and the partition grew again: the same offsets may hold other records. So what is
// read from now on has another incarnation, in all partitions of the topic.
TEST_F(ChosenInMemory, AMoveAfterALostTailRaisesTheIncarnation) {
  LogProgress& first = position.progress[{"pages", 0}];
  const auto planned = [&](const std::string& line) {
    return plan_offsets(OffsetsWanted::parse(line).value(), position, inputs, kafka.process()).value();
  };
  std::vector<OffsetChange> changes = planned("set pages/0=6");
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].after.incarnation, 1U);
  EXPECT_EQ(changes[0].after.moved, 0U);
  for (const int64_t offset : {4, 5, 6})
    first.samples.push_back({offset, 1'600'000'000'000 + offset * 1000, kafka::checksum_of("", "")});
  ASSERT_EQ(planned("set pages/0=7").size(), 1U);
  EXPECT_FALSE(planned("set pages/0=7")[0].any());

  first.samples.back().checksum ^= 1;
  changes = planned("set pages/0=6");
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_EQ(changes[0].text(), "pages/0: 7 -> 6 (1 record is judged again)");
  EXPECT_EQ(changes[1].text(), "pages/1: 0 -> 0, where the topic is another from now on (incarnation 2)");
  for (const OffsetChange& change : changes) {
    EXPECT_TRUE(change.any());
    EXPECT_EQ(change.after.incarnation, 2U);
    EXPECT_EQ(change.after.moved, 1U);
    EXPECT_EQ(change.after.last_ms, -1);
  }
  EXPECT_EQ(changes[0].after.samples.size(), 2U);  // those before still show whether it is the same
  // To go on where it was is a move, too.
  changes = planned("set pages/0=7");
  EXPECT_EQ(changes[0].after.incarnation, 2U);
  EXPECT_TRUE(changes[0].after.samples.empty());
}

// Whichever call finds the topic hidden, the request is refused, and the daemon goes on.
TEST_F(ChosenInMemory, ATopicThatDisappearsMeanwhileRefusesTheRequest) {
  int refused = 0;
  for (int call = 1; call <= 6; ++call) {
    kafka.world.hidden_until = {};
    simulation::LifeCluster& cluster = kafka.process(
        {{.life = 0, .call = call, .fault = simulation::Fault::hide_topic, .ms = 100, .bits = 1}});
    const absl::Status status =
        plan_offsets(OffsetsWanted::parse("set pages/0=6").value(), position, inputs, cluster).status();
    EXPECT_TRUE(status.ok() || absl::IsInvalidArgument(status)) << call << ": " << status;
    refused += status.ok() ? 0 : 1;
    kafka.world.scheduler.sleep(std::chrono::seconds(60));
  }
  EXPECT_GT(refused, 1);
}

// The time of the record before belongs to it, not to another one.
TEST_F(ChosenInMemory, AMovedOffsetForgetsTheRecordBefore) {
  const auto last = [&](const std::string& line) {
    return plan_offsets(OffsetsWanted::parse(line).value(), position, inputs, kafka.process())
        .value()[0]
        .after.last_ms;
  };
  EXPECT_EQ(last("set pages/0=8"), -1);
  EXPECT_EQ(last("set pages/0=7"), 1'600'000'006'000);
}

}  // namespace
}  // namespace doppel::kafka_test
