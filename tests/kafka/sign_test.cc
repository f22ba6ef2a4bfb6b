// Documents are signed into a topic, and a daemon decides the signed records, with the verdicts of a daemon
// on the documents. However the signer is stopped, it omits and repeats nothing.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <map>
#include <random>

#include "engine/signed_record.h"
#include "kafka/broker.h"
#include "kafka/index_setup.h"
#include "kafka/published.h"
#include "kafka/signed_order.h"
#include "kafka/workload.h"
#include "open/setup.h"
#include "records/metadata.h"
#include "state/state_dir.h"

namespace doppel::testing {
namespace {

using ::testing::HasSubstr;

const IndexSetup::Settings kRule{
    {"tombstones", "key"}, {"on_update", "replace"}, {"expire_after", "6h"}, {"max_listed", "2"}};

IndexSetup::Settings with(IndexSetup::Settings settings, const IndexSetup::Settings& more) {
  for (const auto& [key, value] : more) settings[key] = value;
  return settings;
}

std::unique_ptr<Daemon> sign(const IndexSetup& from, const std::string& topic,
                             Daemon::Environment environment = {}) {
  environment["DOPPEL_HASH_KEY"] = kHashKey;
  return std::make_unique<Daemon>(
      std::vector<std::string>{"sign", "--config", from.config_file(), "--to", topic}, environment);
}

void stop(Daemon& daemon) {
  daemon.terminate();
  EXPECT_EQ(daemon.await_exit(), 0) << daemon.said();
}

TEST(SignedTopics, DaemonSaysWhatOneOnTheDocumentsSays) {
  const std::string& broker = Broker::shared().bootstrap();
  IndexSetup texts(broker, kRule, 1);
  IndexSetup records(broker, with(kRule, {{"input.format", "signed"}}), 1);
  Client client(broker);
  std::vector<Message> messages =
      make_workload({.documents = 900, .topics = {texts.input()}, .partitions = 1, .poison = 0.05});
  for (size_t i = 0; i < messages.size(); i += 7) messages[i].headers = {{"h", "v"}, {"none", std::nullopt}};
  produce(client, messages, 0, messages.size());

  const auto daemon = texts.serve();
  const auto signer = sign(texts, records.input());
  Reader(broker, records.input()).read(messages.size());
  stop(*signer);
  const auto other = records.serve();
  ASSERT_TRUE(texts.await_all(*daemon)) << daemon->said();
  ASSERT_TRUE(records.await_all(*other)) << other->said();
  stop(*daemon);
  stop(*other);
  const Publication expected = read_publication(broker, texts.options());
  EXPECT_GT(expected.events.size(), 100U);
  EXPECT_GT(expected.dead_letters.size(), 10U);
  PublicationDifference difference = compare(read_publication(broker, records.options()), expected);
  EXPECT_TRUE(difference.none()) << difference.text();
  EXPECT_EQ(records.compare_with_rebuilt(), "");

  // An index that is rebuilt from the signed records publishes the same.
  IndexSetup again(
      broker, with(kRule, {{"input.format", "signed"}, {"kafka.topics", "[" + records.input() + "]"}}), 1);
  const Ran ran = again.run("rebuild --from documents --publish");
  ASSERT_EQ(ran.code, 0) << ran.err;
  difference = compare(read_publication(broker, again.options()), expected);
  EXPECT_TRUE(difference.none()) << difference.text();
}

// The group drops killed signers after this time.
const IndexSetup::Settings kSigners{{"kafka.batch_documents", "20"},
                                    {"kafka.properties.session.timeout.ms", "1000"}};

// Returns how many offsets of the input are in the ranges of signed records.
size_t signed_offsets(const IndexSetup& texts, const std::string& topic) {
  size_t out = 0;
  for (const std::string& wrong : check_signed_order(read_all(texts.bootstrap(), topic), texts.options(),
                                                     *parse_hash_key(kHashKey), out))
    ADD_FAILURE() << wrong;
  return out;
}

TEST(SignedTopics, KilledSignersLeaveNothingOutAndRepeatNothing) {
  const std::string& broker = Broker::shared().bootstrap();
  IndexSetup texts(broker, with(kRule, kSigners), 3);
  IndexSetup records(broker, with(kRule, {{"input.format", "signed"}}), 1);
  Client client(broker);
  std::vector<Message> messages = make_workload({.documents = 600, .topics = {texts.input()}});
  size_t produced = 0;
  std::mt19937_64 random(7);
  const char* points[] = {"before_produce", "after_produce", "after_send_offsets", "before_commit",
                          "after_commit"};
  for (int round = 0; round < 5; ++round) {
    const size_t end = std::min(messages.size(), produced + 60);
    produce(client, messages, produced, end);
    produced = end;
    const auto signer = sign(texts, records.input(),
                             {{"DOPPEL_KILL_AT", fmt::format("{}:{}", points[round], 1 + random() % 2)}});
    EXPECT_EQ(signer->await_exit(), 128 + 9) << signer->said();
  }
  produce(client, messages, produced, messages.size());
  const auto last = sign(texts, records.input());
  Reader(broker, records.input()).read(messages.size());
  stop(*last);
  EXPECT_EQ(signed_offsets(texts, records.input()), messages.size());
}

// Signers share the partitions. While documents come, they are killed, ended, started, and stopped for longer
// than a session: what such a signer writes afterwards must have no effect.
TEST(SignedTopics, SeveralSignersShareThePartitionsAndSignEachDocumentOnce) {
  const std::string& broker = Broker::shared().bootstrap();
  IndexSetup texts(broker, with(kRule, kSigners), 4);
  IndexSetup records(broker, with(kRule, {{"input.format", "signed"}}), 1);
  Client client(broker);
  std::vector<Message> messages =
      make_workload({.documents = 1200, .topics = {texts.input()}, .partitions = 4});
  const char* given = std::getenv("SIGNERS_SEED");
  const uint64_t seed = given != nullptr ? std::stoull(given) : std::random_device()();
  fmt::print("SIGNERS_SEED={}\n", seed);
  std::mt19937_64 random(seed);

  std::vector<std::unique_ptr<Daemon>> signers;
  for (int i = 0; i < 3; ++i) signers.push_back(sign(texts, records.input()));
  for (const auto& signer : signers) ASSERT_TRUE(signer->await_line("signing ")) << signer->said();
  Reader reader(broker, records.input());
  size_t produced = 0;
  constexpr int kFaults = 12;
  for (int fault = 0; fault < kFaults; ++fault) {
    const size_t end = messages.size() * (static_cast<size_t>(fault) + 1) / (kFaults + 1);
    const size_t more = end - produced;
    produce(client, messages, produced, end);
    produced = end;
    reader.read(more / 2);  // in the middle of the work
    auto& signer = signers[random() % signers.size()];
    switch (random() % 3) {
      case 0:
        signer->kill();
        signer = sign(texts, records.input());
        break;
      case 1:
        signer->signal(SIGSTOP);
        reader.read(more - more / 2);  // the others sign its records
        signer->signal(SIGCONT);
        continue;
      default:
        stop(*signer);
        signer = sign(texts, records.input());
    }
    reader.read(more - more / 2);
  }
  produce(client, messages, produced, messages.size());
  reader.read(messages.size() - produced);
  for (const auto& signer : signers) stop(*signer);
  EXPECT_EQ(signed_offsets(texts, records.input()), messages.size());
  EXPECT_TRUE(reader.read_to_end().empty());

  // A daemon decides records that were signed in pieces like any other stream.
  const auto daemon = records.serve();
  ASSERT_TRUE(records.await_all(*daemon)) << daemon->said();
  stop(*daemon);
  EXPECT_EQ(records.compare_with_rebuilt(), "");
}

// Returns topic, incarnation and offset of each signed record.
std::vector<std::string> places_of(const IndexSetup& texts, const std::string& topic) {
  std::vector<std::string> out;
  const Scheme scheme = engine_options(texts.options(), *parse_hash_key(kHashKey)).value().scheme;
  std::vector<uint8_t> slices(scheme.num_perm);
  for (const Message& m : read_all(texts.bootstrap(), topic)) {
    SignedOrigin origin;
    SignedDocument document;
    Metadata metadata;
    EXPECT_TRUE(decode_signed_record(*m.value, scheme_fingerprint(scheme), scheme.num_perm, origin, document,
                                     slices.data())
                    .ok());
    EXPECT_TRUE(decode_metadata(document.metadata, metadata).ok());
    out.push_back(metadata.event_id());
  }
  return out;
}

// The same offset of a topic that was created again is another document, also for the next signer.
TEST(SignedTopics, ATopicThatIsMadeAgainIsTheNextOfItsName) {
  const std::string& broker = Broker::shared().bootstrap();
  IndexSetup texts(broker, with(kSigners, {{"kafka.properties.topic.metadata.refresh.interval.ms", "200"}}),
                   1);
  IndexSetup records(broker, {{"input.format", "signed"}}, 1);
  Client client(broker);
  std::vector<Message> messages =
      make_workload({.documents = 120, .topics = {texts.input()}, .partitions = 1, .poison = 0});
  Reader reader(broker, records.input());
  std::vector<std::string> expected;
  size_t produced = 0;
  std::unique_ptr<Daemon> signer = sign(texts, records.input());
  const auto expect = [&](const std::string& made, size_t first, size_t count) {
    produce(client, messages, produced, produced + count);
    produced += count;
    reader.read(count);
    for (size_t i = 0; i < count; ++i)
      expected.push_back(fmt::format("{}{}/0/{}", texts.input(), made, first + i));
  };
  expect("", 0, 30);
  for (const auto& [made, count] : {std::pair("@2", size_t{20}), {"@3", size_t{60}}}) {
    client.delete_topic(texts.input());
    client.create_topic(texts.input(), 1);
    expect(made, 0, count);
  }
  stop(*signer);
  signer = sign(texts, records.input());
  expect("@3", 60, 10);
  stop(*signer);
  EXPECT_EQ(places_of(texts, records.input()), expected) << signer->said();
}

TEST(SignedTopics, ASignerWithoutAPartitionWaitsAndTakesOver) {
  const std::string& broker = Broker::shared().bootstrap();
  IndexSetup texts(broker, kSigners, 1);
  IndexSetup records(broker, {{"input.format", "signed"}}, 1);
  Client client(broker);
  std::vector<Message> messages =
      make_workload({.documents = 40, .topics = {texts.input()}, .partitions = 1});
  produce(client, messages, 0, 20);
  const auto first = sign(texts, records.input());
  Reader reader(broker, records.input());
  reader.read(20);
  const auto second = sign(texts, records.input());
  ASSERT_TRUE(second->await_line("no partition is left")) << second->said();
  first->terminate();  // it leaves the group, so nobody waits for its session to end
  EXPECT_EQ(first->await_exit(), 0) << first->said();
  produce(client, messages, 20, 40);
  reader.read(20);
  stop(*second);
  EXPECT_EQ(signed_offsets(texts, records.input()), 40U);
}

TEST(SignedTopics, WhatIsNoneIsADeadLetterAndTheStreamGoesOn) {
  const std::string& broker = Broker::shared().bootstrap();
  IndexSetup texts(broker, kRule, 1);
  IndexSetup records(broker, with(kRule, {{"input.format", "signed"}}), 1);
  Client client(broker);
  std::vector<Message> messages = make_workload({.documents = 60,
                                                 .topics = {texts.input()},
                                                 .partitions = 1,
                                                 .null_values = 0,
                                                 .same_keys = 0,
                                                 .poison = 0});
  produce(client, messages, 0, messages.size());
  const auto signer = sign(texts, records.input());
  const std::vector<Message> signed_ones = Reader(broker, records.input()).read(messages.size());
  stop(*signer);
  // Another key, according to its scheme.
  texts.set({{"kafka.group", "~-other"}, {"num_perm", "64"}});
  const auto other = sign(texts, records.input());
  Reader both(broker, records.input());
  both.read(2 * messages.size());
  stop(*other);

  std::vector<Message> bad(5);
  bad[0].value = R"({"id":"a","text":"no signed record"})";
  bad[1].value = signed_ones[3].value->substr(0, 200);
  bad[2].value = *signed_ones[4].value;
  (*bad[2].value)[100] ^= 1;
  bad[3].value = "";
  bad[4] = signed_ones[0];  // a second time
  client.produce(records.input(), bad);
  const auto daemon = records.serve();
  ASSERT_TRUE(records.await_all(*daemon)) << daemon->said();
  client.produce(records.input(), signed_ones[1]);
  ASSERT_TRUE(records.await_all(*daemon)) << daemon->said();
  stop(*daemon);
  const std::vector<Message> letters = read_all(broker, records.options().output.dead_letters);
  ASSERT_EQ(letters.size(), messages.size() + 4);
  const auto reason = [](const Message& m) { return m.header("__connect.errors.exception.message"); };
  std::map<std::string, int> reasons;
  for (const Message& m : letters) ++reasons[reason(m).substr(0, 40)];
  EXPECT_THAT(reason(letters[0]), HasSubstr("signed"));
  int named = 0;
  for (const Message& m : letters)
    named +=
        reason(m).find("num_perm: the records were signed with 64, this run expects 128") != std::string::npos
            ? 1
            : 0;
  EXPECT_EQ(named, static_cast<int>(messages.size()));
  // No document is a copy of itself.
  for (const Message& m : read_all(broker, records.options().output.topic))
    EXPECT_EQ(m.value->find(fmt::format("\"event_id\":\"{0}/0/0\",", texts.input())), std::string::npos);
}

TEST(SignedTopics, TopicsThatCannotBeUsedAreNamed) {
  const std::string& broker = Broker::shared().bootstrap();
  IndexSetup texts(broker, {}, 3);
  Ran ran = texts.run("sign --to " + texts.input());
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("is one of kafka.topics, which are read"));
  Client client(broker);
  const std::string two = unique_name("two");
  client.create_topic(two, 2, {{"max.message.bytes", "3000000"}});
  ran = texts.run("sign --to " + two);
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr(two + " (signed records) has 2 partitions; it must have one"));
  const std::string small = unique_name("small");
  client.create_topic(small, 1, {{"max.message.bytes", "100000"}});
  ran = texts.run("sign --to " + small);
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("max.message.bytes is 100000, and max_record (1000000) needs"));
  texts.set({{"kafka.create_topics", "false"}});
  ran = texts.run("sign --to " + unique_name("missing"));
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("(signed records) does not exist"));
}

TEST(SignedTopics, FilesAreSignedIntoATopicToo) {
  const std::string& broker = Broker::shared().bootstrap();
  IndexSetup records(broker, {{"input.format", "signed"}, {"output.verdicts", "all"}}, 1);
  const std::string text = "one two three four five six seven eight nine ten";
  write_file(records.path("in.jsonl"),
             "{\"id\":\"a\",\"text\":\"" + text + "\"}\n{\"id\":\"b\",\"text\":\"" + text + "\"}\n");
  const Ran ran = run_doppel(fmt::format("sign --set kafka.brokers={} --to {} {}", broker, records.input(),
                                         records.path("in.jsonl")),
                             fmt::format("DOPPEL_HASH_KEY={}", kHashKey));
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto daemon = records.serve();
  ASSERT_TRUE(records.await_all(*daemon)) << daemon->said();
  stop(*daemon);
  const std::vector<Message> events = read_all(broker, records.options().output.topic);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].value->find("duplicate-of") == std::string::npos,
            events[1].value->find("duplicate-of") != std::string::npos);
}

}  // namespace
}  // namespace doppel::testing
