// Records that are larger than doppel may write: on the broker their compressed size counts, and limits of
// topics may be lowered while the daemon runs. Each becomes a dead letter, once, and the stream continues.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "kafka/case.h"

namespace doppel::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string words(int count, const std::string& word) {
  std::string out;
  for (int i = 0; i < count; ++i) out += word + std::to_string(i) + " ";
  return out;
}

// Returns bytes that do not compress.
std::string noise(size_t size) {
  static std::mt19937_64 random(1);
  std::string out(size, 0);
  for (char& c : out) c = static_cast<char>(random());
  return out;
}

Message record(const std::string& key, const std::string& text, const std::string& url = "") {
  Message m;
  m.key = key;
  m.value = R"({"url":")" + url + R"(","text":")" + text + "\"}";
  m.timestamp_ms = 1'700'000'000'000;
  return m;
}

struct Poison : Case {
  explicit Poison(const IndexSetup::Settings& settings = {}) : Case(settings) {
    // The broker's default.
    client.set_topic_configs(setup.input(), {{"max.message.bytes", "1048588"}});
  }

  // Sends them compressed, as crawlers do.
  void send(const std::vector<Message>& records) {
    for (const Message& m : records) compressed.produce(setup.input(), m);
    produced += records.size();
  }
  // Returns the dead letters by their keys, or by the first bytes of these.
  std::map<std::string, Message> dead_letters() {
    std::map<std::string, Message> out;
    for (const Message& m : read_all(setup.bootstrap(), setup.options().output.dead_letters)) {
      const std::string name = m.key.value_or(m.header("__connect.errors.offset")).substr(0, 20);
      EXPECT_TRUE(out.emplace(name, m).second) << name << " twice";
    }
    return out;
  }
  std::string stage(const std::string& key) { return dead_letters()[key].header("__connect.errors.stage"); }
  // Checks that nothing is lost, doubled, or published again after a restart.
  void expect_right(Daemon& daemon) {
    await_all(daemon);
    stop(daemon);
    const size_t letters = dead_letters().size();
    const auto again = start();
    send({record("last", words(50, "last"))});
    await_all(*again);
    stop(*again);
    EXPECT_EQ(dead_letters().size(), letters);
    const Verification result = setup.verify();
    EXPECT_TRUE(result.findings.empty()) << result.text();
    EXPECT_EQ(result.documents, produced);
    EXPECT_EQ(setup.compare_with_rebuilt(), "");
  }

  Client compressed{setup.bootstrap(), {{"compression.codec", "zstd"}}};
};

TEST(PoisonRecords, WhatOnlyFitsCompressedFitsItsDeadLetterToo) {
  Poison c(IndexSetup::Settings{{"output.unique_topic", "~-unique"}});
  const auto daemon = c.start();
  std::vector<Message> messages{record("original", words(100, "o")), record("{", ""), record("headers", ""),
                                record(std::string(1'300'000, 'k'), words(100, "o")),
                                record("large", words(10, "l") + std::string(3'000'000, ' '))};
  messages[1].value = "{" + std::string(3'000'000, ' ');
  messages[2].value = "{";
  messages[2].headers = {{"h", std::string(1'300'000, 'h')}, {"", std::nullopt}};
  c.send(messages);
  c.send({record("copy", words(100, "o"))});
  c.await_all(*daemon);
  const auto letters = c.dead_letters();
  ASSERT_EQ(letters.size(), 3U) << daemon->said();
  EXPECT_EQ(letters.at("{").value, messages[1].value);
  EXPECT_EQ(letters.at("headers").header("h"), messages[2].headers[0].second);
  EXPECT_EQ(letters.at("kkkkkkkkkkkkkkkkkkkk").key, messages[3].key);  // its metadata is above 64 KiB
  for (const auto& [name, letter] : letters) {
    EXPECT_EQ(letter.header("__connect.errors.stage"), "SIGN");
    EXPECT_EQ(letter.header("doppel.left_out_bytes"), "");
  }
  EXPECT_EQ(read_all(c.setup.bootstrap(), c.setup.options().output.topic).size(), 1U);
  c.expect_right(*daemon);
}

// If the user configures another compression, doppel uses it, and leaves out the parts that do not fit.
TEST(PoisonRecords, WithoutCompressionWhatDoesNotFitIsLeftOutAndSaid) {
  Poison c(IndexSetup::Settings{{"kafka.properties", "{compression.codec: none}"},
                                {"output.unique_topic", "~-unique"}});
  const auto daemon = c.start();
  std::vector<Message> messages{record(std::string(1'300'000, 'k'), "x"), record("headers", ""),
                                record("value", ""),
                                record("large", words(10, "l") + std::string(3'000'000, ' '))};
  messages[1].value = "{";
  messages[1].headers = {{"h", std::string(1'300'000, 'h')}, {"", std::nullopt}};
  messages[2].value = "{" + std::string(3'000'000, ' ');
  c.send(messages);
  c.await_all(*daemon);
  auto letters = c.dead_letters();
  ASSERT_EQ(letters.size(), 4U) << daemon->said();
  EXPECT_EQ(letters["0"].header("doppel.left_out_key_bytes"), "1300000");
  EXPECT_EQ(letters["0"].header("doppel.left_out_headers"), "");
  EXPECT_EQ(letters["headers"].header("doppel.left_out_headers"), "2");
  EXPECT_EQ(letters["headers"].header("h"), "");
  EXPECT_EQ(letters["value"].header("doppel.left_out_bytes"), "3000001");
  EXPECT_EQ(letters["value"].value, std::nullopt);
  EXPECT_EQ(letters["large"].header("__connect.errors.stage"), "UNIQUE");
  Case::stop(*daemon);
  const auto again = c.start();
  c.send({record("last", words(50, "last"))});
  c.await_all(*again);
  Case::stop(*again);
  EXPECT_EQ(c.dead_letters().size(), 4U);
}

// A console producer sends an empty record for an empty line. Each comes alone, so a batch has no bytes.
TEST(PoisonRecords, EmptyRecordsAreDeadLetters) {
  Poison c;
  const auto daemon = c.start();
  for (const std::optional<std::string>& value :
       {std::optional<std::string>(""), std::optional<std::string>()}) {
    Message empty;
    empty.value = value;
    empty.timestamp_ms = 1'700'000'000'000;
    c.send({empty});
    c.await_all(*daemon);
  }
  c.expect_right(*daemon);
}

// A document's key may be as large as the rest of the record.
TEST(PoisonRecords, WithAllVerdictsARejectedRecordHasOneDeadLetter) {
  Poison c(IndexSetup::Settings{{"output.verdicts", "all"}});
  const auto daemon = c.start();
  c.send({record(std::string(1'300'000, 'k'), "x"), record("a", words(50, "a"))});
  c.await_all(*daemon);
  EXPECT_EQ(c.dead_letters().size(), 1U);
  Case::stop(*daemon);
}

// ---- limits that are lowered while the daemon runs

TEST(LoweredLimits, OfEventsMakeDeadLettersOfWhatDoesNotFit) {
  Poison c(IndexSetup::Settings{{"kafka.partitions", "1"}, {"tombstones", "key"}});
  const std::string long_url = "https://example.org/" + std::string(4000, 'u');
  const auto daemon = c.start();
  c.send({record("original", words(100, "o")), record("another", words(100, "p"), long_url),
          record("copy", words(100, "o"), long_url)});
  c.await_all(*daemon);
  EXPECT_EQ(c.dead_letters().size(), 0U);
  c.client.set_topic_configs(c.setup.options().output.topic, {{"max.message.bytes", "3000"}});
  Message removal;
  removal.key = "another";  // the event would name the original's URL
  c.send({record("short", words(100, "o")), record("long", words(100, "o"), long_url), removal,
          record("shorter", words(100, "o"))});
  c.await_all(*daemon);
  EXPECT_THAT(daemon->said(), HasSubstr("a topic accepts smaller records than before"));
  EXPECT_EQ(c.dead_letters().size(), 1U);
  EXPECT_EQ(c.stage("long"), "EVENT");
  EXPECT_EQ(read_all(c.setup.bootstrap(), c.setup.options().output.topic).size(), 4U);
  c.expect_right(*daemon);
}

TEST(LoweredLimits, OfDeadLettersLeaveOutWhatDoesNotFit) {
  Poison c;
  const auto daemon = c.start();
  Message broken = record("before", "");
  broken.value = "{" + noise(20'000);
  c.send({broken});
  c.await_all(*daemon);
  c.client.set_topic_configs(c.setup.options().output.dead_letters, {{"max.message.bytes", "10000"}});
  broken.key = "after";
  c.send({broken, record("goes on", words(100, "o"))});
  c.await_all(*daemon);
  auto letters = c.dead_letters();
  EXPECT_EQ(letters["before"].value, broken.value);
  EXPECT_EQ(letters["after"].header("doppel.left_out_bytes"), "20001");
  // A record that compresses well still comes whole.
  broken.key = "thin";
  broken.value = "{" + std::string(20'000, ' ');
  c.send({broken});
  c.await_all(*daemon);
  EXPECT_EQ(c.dead_letters()["thin"].value, broken.value);
  c.expect_right(*daemon);
}

TEST(LoweredLimits, OfDeadLettersBelowAllThatTheySayEndTheDaemon) {
  Poison c;
  const auto daemon = c.start();
  const std::string& topic = c.setup.options().output.dead_letters;
  c.client.set_topic_configs(topic, {{"max.message.bytes", "200"}});
  Message broken = record("broken", "");
  broken.value = "{";
  c.send({broken});
  EXPECT_EQ(daemon->await_exit(), 3) << daemon->said();
  EXPECT_THAT(daemon->said(), HasSubstr(topic + " accepts records of 200 bytes"));
  EXPECT_THAT(daemon->said(), HasSubstr("raise its max.message.bytes"));
  c.client.set_topic_configs(topic, {{"max.message.bytes", "1048588"}});
  const auto again = c.start();
  c.expect_right(*again);
}

// Batches of many records no longer fit, although each record does.
TEST(LoweredLimits, OfTheIndexLogThatEachRowFitsAreWrittenInSmallerBatches) {
  Poison c;
  c.produce_next(100);
  const auto daemon = c.start();
  c.await_all(*daemon);
  c.client.set_topic_configs(c.setup.options().kafka.index_log, {{"max.message.bytes", "6000"}});
  c.produce_next(400);
  c.await_all(*daemon);
  Case::stop(*daemon);
  c.client.set_topic_configs(c.setup.options().kafka.index_log, {{"max.message.bytes", "80000000"}});
  c.expect_exact();
}

TEST(LoweredLimits, OfTheIndexLogEndTheDaemonWhereARowDoesNotFit) {
  Poison c;
  const auto daemon = c.start();
  const std::string& log = c.setup.options().kafka.index_log;
  c.client.set_topic_configs(log, {{"max.message.bytes", "6000"}});
  c.send({record("small", words(50, "s")), record("large", words(20'000, "l"))});
  EXPECT_EQ(daemon->await_exit(), 3) << daemon->said();
  EXPECT_THAT(daemon->said(), HasSubstr("the index log " + log + " refuses a record"));
  EXPECT_THAT(daemon->said(), HasSubstr("max.message.bytes was lowered"));
  const auto refused = c.setup.serve();
  EXPECT_EQ(refused->await_exit(), 2) << refused->said();  // at a start: a person must change it
  EXPECT_THAT(refused->said(), HasSubstr("--entity-name " + log + " --add-config max.message.bytes="));
  c.client.set_topic_configs(log, {{"max.message.bytes", "80000000"}});
  const auto again = c.start();
  c.expect_right(*again);
}

// ---- doppel never reads its own outputs

TEST(OwnOutputs, AreNeverReadThoughAnExpressionFitsThem) {
  Case c(IndexSetup::Settings{{"kafka.topics", "['^~-']"},
                              {"kafka.properties.topic.metadata.refresh.interval.ms", "100"},
                              {"output.unique_topic", "~-unique"}});
  c.produce_next(200);
  const auto daemon = c.start();
  c.await_all(*daemon);
  c.finish(*daemon);
  const std::string said = daemon->said();
  const Options& o = c.setup.options();
  for (const std::string& topic :
       {o.kafka.index_log, o.output.topic, o.output.dead_letters, o.output.unique_topic}) {
    const std::string once = "doppel does not read it expression=^" + o.kafka.group + "- topic=" + topic;
    const size_t at = said.find(once);
    ASSERT_NE(at, std::string::npos) << once << "\n" << said;
    EXPECT_EQ(said.find(once, at + 1), std::string::npos);
    EXPECT_THAT(said, Not(HasSubstr("a new partition topic=" + topic)));
  }
}

}  // namespace
}  // namespace doppel::testing
