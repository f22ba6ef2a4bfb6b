// Republishing dead letters on a Kafka in memory: each chosen letter once, whatever goes wrong.
#include "kafka/dead_letters.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kafka/unit/simulated.h"

namespace doppel::kafka_test {
namespace {

using kafka::DeadLetters;
using kafka::Letter;
using simulation::Event;
using simulation::Fault;
using simulation::StoredRecord;
using ::testing::HasSubstr;

constexpr char kMark[] = "doppel.republished", kLetters[] = "letters";
using Headers = std::vector<std::pair<std::string, std::optional<std::string>>>;

// A letter as doppel writes it, with the record that it is about.
struct Sent {
  StoredRecord record;
  Headers headers;  // of the record
  std::string topic;
  int32_t partition = 0;
  bool whole = true;

  StoredRecord letter() const {
    StoredRecord out = record;
    out.headers = headers;
    out.headers.emplace_back("__connect.errors.topic", topic);
    out.headers.emplace_back("__connect.errors.partition", fmt::format("{}", partition));
    out.headers.emplace_back("__connect.errors.offset", "17");
    out.headers.emplace_back("__connect.errors.connector.name", "doppel");
    out.headers.emplace_back("__connect.errors.stage", "SIGN");
    out.headers.emplace_back("__connect.errors.exception.message", "not JSON");
    if (!whole) out.headers.emplace_back("doppel.left_out_bytes", "9");
    return out;
  }
};

Sent letter(const std::string& value, const std::string& topic = "pages", int32_t partition = 0) {
  Sent out{.record = {.timestamp_ms = 1'600'000'000'123}, .headers = {}, .topic = topic};
  out.partition = partition;
  out.record.key = "key of " + value;
  out.record.value = value;
  return out;
}

// Appends it to the topic of letters and returns its name.
std::string append(Simulated& kafka, const Sent& sent, int32_t partition) {
  kafka.world.broker.append({kLetters, partition}, sent.letter());
  const auto& records =
      kafka.world.broker.topics.at(kLetters).partitions[static_cast<size_t>(partition)].records;
  return fmt::format("{}/{}/{}", kLetters, partition, records.back().offset);
}

std::string text(const StoredRecord& record) {
  std::string out = fmt::format("{} {} {}", record.timestamp_ms, record.key.value_or("(none)"),
                                record.value.value_or("(null)"));
  for (const auto& [name, value] : record.headers)
    out += fmt::format(" {}={}", name, value.value_or("(null)"));
  return out;
}

class DeadLettersInMemory : public ::testing::Test {
 protected:
  void SetUp() override {
    kafka.topic("pages", 2);
    kafka.topic("log", 1);
    kafka.topic("events", 1);
    kafka.topic(kLetters, 2);
  }
  std::string add(const Sent& sent, int32_t partition = 0) { return append(kafka, sent, partition); }
  static DeadLetters::Wanted all() {
    return {.chosen = [](const Letter&) { return true; }};
  }
  std::vector<std::string> values(const std::string& topic, size_t partition = 0) {
    std::vector<std::string> out;
    for (const StoredRecord& r : kafka.committed(topic, partition)) out.push_back(r.value.value_or("(null)"));
    return out;
  }
  Simulated kafka{1};
};

TEST_F(DeadLettersInMemory, AreReadInFullAndOthersAreCounted) {
  Sent first = letter("one", "pages", 1);
  first.headers = {{"a", "b"}, {"__connect.errors.topic", "of the record"}, {"c", std::nullopt}};
  add(first);
  Sent second = letter("two", "gone", 12);
  second.record.key.reset();
  second.record.value.reset();
  second.whole = false;
  add(second, 1);
  StoredRecord other = letter("three").letter();
  std::erase_if(other.headers, [](const auto& h) { return h.first == "__connect.errors.connector.name"; });
  kafka.world.broker.append({kLetters, 0}, other);
  kafka.world.broker.append({kLetters, 0}, {.value = "without headers", .headers = {}});

  DeadLetters letters(kafka.process(), kLetters);
  std::vector<std::string> seen;
  const auto counts = letters.read([&](const Letter& l) {
    std::string line = fmt::format("{}/{} {} {} of {}/{} {} {} {} {} {}:", l.place.topic, l.place.partition,
                                   l.offset, l.timestamp_ms, l.origin.topic, l.origin.partition, l.stage,
                                   l.reason, l.whole, l.key.value_or("(none)"), l.value.value_or("(null)"));
    for (const Header& h : l.headers) line += fmt::format(" {}={}", h.name, h.value.value_or("(null)"));
    seen.push_back(line);
    return absl::OkStatus();
  });
  ASSERT_TRUE(counts.ok()) << counts.status();
  EXPECT_THAT(seen, ::testing::ElementsAre(
                        "letters/0 0 1600000000123 of pages/1 SIGN not JSON true key of one one: a=b "
                        "__connect.errors.topic=of the record c=(null)",
                        "letters/1 0 1600000000123 of gone/12 SIGN not JSON false (none) (null):"));
  EXPECT_EQ(counts->letters, 2u);
  EXPECT_EQ(counts->others, 2u);
  EXPECT_EQ(counts->republished, 0u);
}

TEST_F(DeadLettersInMemory, AnErrorOfTheVisitorEndsTheReading) {
  add(letter("one"));
  add(letter("two"));
  int visited = 0;
  const auto counts = DeadLetters(kafka.process(), kLetters).read([&](const Letter&) {
    ++visited;
    return absl::CancelledError("enough");
  });
  EXPECT_TRUE(absl::IsCancelled(counts.status()));
  EXPECT_EQ(visited, 1);
}

TEST_F(DeadLettersInMemory, ATopicThatDoesNotExistIsNamed) {
  const auto done = DeadLetters(kafka.process(), "nowhere").republish(all());
  EXPECT_TRUE(absl::IsNotFound(done.status()));
  EXPECT_THAT(done.status().message(), HasSubstr("nowhere"));
}

// Only letters are sent whose record is whole, whose topic exists, and that are chosen; a copy stays in its
// partition if there is one.
TEST_F(DeadLettersInMemory, ACopyIsTheRecordWithAMark) {
  Sent one = letter("one", "pages", 1);
  one.headers = {{"a", "b"}, {kMark, "of an earlier time"}, {"c", std::nullopt}};
  const std::string name = add(one);
  Sent removal = letter("", "pages", 0);
  removal.record.value.reset();
  removal.record.key = "key";
  removal.record.timestamp_ms = -1;
  add(removal, 1);
  add(letter("gone", "gone", 0));
  Sent part = letter("part");
  part.whole = false;
  add(part);
  add(letter("not wanted"));
  add(letter("elsewhere", "pages", 7));

  DeadLetters letters(kafka.process(), kLetters);
  auto wanted = all();
  wanted.chosen = [](const Letter& l) { return l.value != "not wanted"; };
  const auto done = letters.republish(wanted);
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_EQ(done->republished, 3u);
  EXPECT_TRUE(done->too_large.empty());
  std::vector<StoredRecord> copies = kafka.committed("pages", 1);
  ASSERT_FALSE(copies.empty());
  EXPECT_EQ(text(copies[0]), "1600000000123 key of one one a=b c=(null) doppel.republished=" + name);
  std::vector<std::string> rest = values("pages", 0);
  if (copies.size() == 2) rest.push_back(copies[1].value.value_or("?"));
  EXPECT_THAT(rest, ::testing::UnorderedElementsAre("(null)", "elsewhere"));
  EXPECT_THAT(values(kLetters, 0), ::testing::Contains("{\"republished\":true}").Times(2));

  // What was sent is not visited again; the notes are no letters.
  const auto counts = letters.read([](const Letter&) { return absl::OkStatus(); });
  EXPECT_EQ(counts->republished, 3u);
  EXPECT_EQ(counts->letters, 3u);
  EXPECT_EQ(counts->others, 0u);
  const auto again = letters.republish(wanted);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->republished, 0u);
  EXPECT_EQ(values("pages", 0).size() + values("pages", 1).size(), 3u);
}

TEST_F(DeadLettersInMemory, RecordsThatAreTooLargeStayAndAreNamed) {
  kafka.world.broker.topics["pages"].configs["max.message.bytes"] = "1000";
  add(letter("one"));
  const std::string large = add(letter(std::string(2000, 'x')));
  add(letter("two"), 1);
  const auto done = DeadLetters(kafka.process(), kLetters).republish(all());
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_EQ(done->republished, 2u);
  EXPECT_THAT(done->too_large, ::testing::ElementsAre(large));
  EXPECT_THAT(values("pages"), ::testing::ElementsAre("one", "two"));
}

// A note that does not fit is no letter that is too large.
TEST_F(DeadLettersInMemory, ATopicThatRefusesNotesIsAnError) {
  add(letter("one"));
  kafka.world.broker.topics[kLetters].configs["max.message.bytes"] = "10";
  const auto done = DeadLetters(kafka.process(), kLetters).republish(all());
  EXPECT_TRUE(absl::IsInternal(done.status())) << done.status();
  EXPECT_TRUE(values("pages").empty());
}

TEST_F(DeadLettersInMemory, AStopIsSaidAndLosesNothing) {
  for (int i = 0; i < 1200; ++i) add(letter(fmt::format("{}", i)));
  auto wanted = all();
  int asked = 0;
  wanted.stop = [&] { return ++asked > 700; };
  const auto stopped = DeadLetters(kafka.process(), kLetters).republish(wanted);
  EXPECT_TRUE(absl::IsCancelled(stopped.status())) << stopped.status();
  EXPECT_EQ(values("pages").size(), 500u);  // one transaction
  const auto done = DeadLetters(kafka.process(), kLetters).republish(all());
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_EQ(done->republished, 700u);
  EXPECT_EQ(values("pages").size(), 1200u);
}

TEST_F(DeadLettersInMemory, LargeRecordsMakeSmallTransactions) {
  for (int i = 0; i < 10; ++i) add(letter(std::string(90'000, 'x')));
  ASSERT_TRUE(DeadLetters(kafka.process(), kLetters).republish(all()).ok());
  EXPECT_EQ(kafka.world.broker.did.commits, 1u);
  for (int i = 0; i < 100; ++i) add(letter(std::string(90'000, 'x')));
  ASSERT_TRUE(DeadLetters(kafka.process(), kLetters).republish(all()).ok());
  EXPECT_EQ(kafka.world.broker.did.commits, 1u + 5);  // of 24 letters each, which have 4.3 MB with their keys
}

// Another process begins before the first one has ended.
TEST_F(DeadLettersInMemory, OnlyOneProcessRepublishes) {
  for (int i = 0; i < 1200; ++i) add(letter(fmt::format("{}", i)));
  auto wanted = all();
  bool other = false;
  wanted.chosen = [&](const Letter& l) {
    if (l.offset == 700 && !std::exchange(other, true)) {
      const auto done = DeadLetters(kafka.process(), kLetters).republish(all());
      EXPECT_TRUE(done.ok()) << done.status();
      EXPECT_EQ(done->republished, 700u);
    }
    return true;
  };
  const auto done = DeadLetters(kafka.process(), kLetters).republish(wanted);
  EXPECT_TRUE(absl::IsAborted(done.status())) << done.status();
  EXPECT_THAT(done.status().message(), HasSubstr("another process republishes letters of letters"));
  EXPECT_EQ(values("pages").size(), 1200u);
}

// A transaction of another producer is open in the topic: what it notes is not known yet.
TEST_F(DeadLettersInMemory, AnOpenTransactionIsAwaited) {
  add(letter("one"));
  kafka.world.broker.init("other", 99);
  kafka.world.broker.produce("other", {kLetters, 1}, {.value = "?", .headers = {}});
  const auto done = DeadLetters(kafka.process(), kLetters).republish(all());
  EXPECT_TRUE(absl::IsFailedPrecondition(done.status())) << done.status();
  EXPECT_THAT(done.status().message(), HasSubstr("letters/1 for 60 s"));
  EXPECT_TRUE(values("pages").empty());
}

std::vector<Event> some_faults(std::mt19937_64& random) {
  std::vector<Event> out;
  constexpr Fault kFaults[] = {Fault::refuse,      Fault::lose_answer, Fault::lose_commit,
                               Fault::broker_away, Fault::late_marks,  Fault::implied};
  for (uint64_t n = random() % 8; n > 0; --n) {
    Event event{.call = static_cast<int>(1 + random() % 60), .fault = kFaults[random() % std::size(kFaults)]};
    event.ms = static_cast<int64_t>(random() % 40'000);
    event.bits = static_cast<uint32_t>(event.fault == Fault::lose_commit ? random() % 2 : random());
    out.push_back(event);
  }
  return out;
}

TEST(DeadLettersOracle, EachChosenLetterIsCopiedOnceWhateverGoesWrong) {
  const auto base = std::random_device()();
  for (uint64_t round = 0; round < 60; ++round) {
    SCOPED_TRACE(fmt::format("seed {}, round {}", base, round));
    std::mt19937_64 random(base + round);
    Simulated kafka(random());
    kafka.topic("pages", 1 + random() % 3);
    kafka.topic("log", 1);
    kafka.topic("events", 1);
    const size_t partitions = 1 + random() % 3;
    kafka.topic(kLetters, partitions);
    std::map<std::string, std::string> expected;  // by letter
    for (uint64_t n = random() % 1500; n > 0; --n) {
      Sent sent = letter(fmt::format("{}", n), random() % 9 == 0 ? "gone" : "pages", random() % 4);
      sent.whole = random() % 9 != 0;
      if (random() % 3 == 0) sent.record.key.reset();
      if (random() % 5 == 0) sent.record.value.reset();
      if (random() % 2 == 0) sent.headers.emplace_back("h", "v");
      const auto partition = static_cast<int32_t>(random() % partitions);
      const std::string name = append(kafka, sent, partition);
      if (!sent.whole || sent.topic == "gone") continue;
      StoredRecord copy = sent.record;
      copy.headers = sent.headers;
      copy.headers.emplace_back(kMark, name);
      expected[name] = text(copy);
    }
    uint64_t republished = 0;
    for (int attempt = 0;; ++attempt) {
      ASSERT_LT(attempt, 20);
      DeadLetters letters(kafka.process(attempt < 15 ? some_faults(random) : std::vector<Event>()), kLetters);
      const auto done = letters.republish({.chosen = [](const Letter&) { return true; }});
      if (done.ok()) {
        republished = done->republished;
        break;
      }
      ASSERT_TRUE(kafka::may_pass(done.status()) || absl::IsFailedPrecondition(done.status()))
          << done.status();
    }
    EXPECT_LE(republished, expected.size());
    kafka.world.broker.mark_late();
    size_t copies = 0;
    for (size_t p = 0; p < kafka.world.broker.topics.at("pages").partitions.size(); ++p) {
      for (const StoredRecord& record : kafka.committed("pages", p)) {
        ++copies;
        EXPECT_EQ(text(record), expected[header_of(record, kMark)]);
      }
    }
    EXPECT_EQ(copies, expected.size());
    const auto counts =
        DeadLetters(kafka.process(), kLetters).read([](const Letter&) { return absl::OkStatus(); });
    ASSERT_TRUE(counts.ok()) << counts.status();
    EXPECT_EQ(counts->republished, expected.size());
  }
}

}  // namespace
}  // namespace doppel::kafka_test
