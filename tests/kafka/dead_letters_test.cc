// doppel deadletters on a real broker: its output, and that it republishes each chosen letter once, however
// the command ends.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <map>
#include <random>

#include "kafka/broker.h"
#include "kafka/index_setup.h"

namespace doppel::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kMark[] = "doppel.republished";
const std::string kNotJson = "--reason 'not JSON'";

class DeadLetters : public ::testing::Test {
 protected:
  std::vector<Message> letters(const std::string& topic = "") const {
    std::vector<Message> out;
    for (Message& m :
         read_all(setup.bootstrap(), topic.empty() ? setup.options().output.dead_letters : topic))
      if (!m.header("__connect.errors.stage").empty()) out.push_back(std::move(m));
    return out;
  }
  // Returns the copies in the input, by the letter that they name.
  std::multimap<std::string, Message> copies() const {
    std::multimap<std::string, Message> out;
    for (Message& m : read_all(setup.bootstrap(), setup.input()))
      if (std::string letter = m.header(kMark); !letter.empty()) out.emplace(letter, std::move(m));
    return out;
  }
  static std::string name_of(const Message& letter) {
    return fmt::format("{}/{}/{}", letter.topic, letter.partition, letter.offset);
  }
  // Judges everything that is in the input.
  void judge() {
    const auto daemon = setup.serve();
    ASSERT_TRUE(daemon->await_line("ready")) << daemon->said();
    ASSERT_TRUE(setup.await_all(*daemon)) << daemon->said();
    daemon->terminate();
    EXPECT_EQ(daemon->await_exit(), 0) << daemon->said();
  }
  Ran republish(const std::string& flags, const std::string& environment = "") const {
    return run_doppel(fmt::format("deadletters republish {} --config '{}'", flags, setup.config_file()),
                      fmt::format("DOPPEL_HASH_KEY={} {}", kHashKey, environment));
  }
  void feed(const std::string& value, const std::string& key = "", int64_t timestamp_ms = 1'700'000'000'000) {
    Message m;
    if (!key.empty()) m.key = key;
    m.value = value;
    m.timestamp_ms = timestamp_ms;
    m.partition = static_cast<int32_t>(fed++ % 3);
    m.headers = {{"origin", "crawl"}, {"empty", std::nullopt}};
    client.produce(setup.input(), m);
  }

  IndexSetup setup{Broker::shared().bootstrap()};
  Client client{setup.bootstrap()};
  size_t fed = 0;
};

TEST_F(DeadLetters, AreShownByReasonAndRepublishedWithAMark) {
  feed("not json", "k1");
  feed("nor this");
  feed(R"({"id":"x"})", "k2", 1'750'000'000'000);
  feed(R"({"id":"good","text":"a b c d e f g h"})");
  judge();
  ASSERT_THAT(letters(), SizeIs(3));
  const Ran shown = setup.run("deadletters show");
  EXPECT_EQ(shown.code, 0) << shown.err;
  const std::vector<Message> all = letters();
  const auto of_key = [&](const std::string& key) {
    return *std::find_if(all.begin(), all.end(), [&](const Message& m) { return m.key == key; });
  };
  const Message first = of_key("k1"), late = of_key("k2");
  const std::string reason = first.header("__connect.errors.exception.message");
  EXPECT_THAT(shown.out, HasSubstr(fmt::format("{:>12}  SIGN    {:<24}  {}\n", 2, setup.input(), reason)));
  EXPECT_THAT(shown.out, HasSubstr(late.header("__connect.errors.exception.message")));
  EXPECT_THAT(shown.out, HasSubstr("3 letters\n"));

  // Does nothing without --yes.
  const Ran planned = republish(kNotJson);
  EXPECT_EQ(planned.code, 2);
  EXPECT_THAT(planned.out, HasSubstr(reason));
  EXPECT_THAT(planned.err, HasSubstr("the same command with --yes"));
  EXPECT_THAT(copies(), IsEmpty());

  const Ran done = republish(kNotJson + " --yes");
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("2 letters were republished"));
  ASSERT_THAT(copies(), SizeIs(2));
  ASSERT_TRUE(copies().contains(name_of(first)));
  const Message sent = copies().find(name_of(first))->second;
  EXPECT_EQ(sent.key, "k1");
  EXPECT_EQ(sent.value, "not json");
  EXPECT_EQ(sent.timestamp_ms, 1'700'000'000'000);
  EXPECT_EQ(std::to_string(sent.partition), first.header("__connect.errors.partition"));
  ASSERT_THAT(sent.headers, SizeIs(3));
  EXPECT_EQ(sent.header("origin"), "crawl");
  EXPECT_EQ(sent.headers[1].second, std::nullopt);

  // Only once; the others come later.
  EXPECT_THAT(republish(kNotJson + " --yes").out, HasSubstr("0 letters were republished"));
  EXPECT_THAT(republish("--until 2025-01-01 --yes").out, HasSubstr("0 letters were republished"));
  EXPECT_THAT(republish("--topic another --yes").out, HasSubstr("0 letters were republished"));
  EXPECT_THAT(republish("--stage EVENT --yes").out, HasSubstr("0 letters were republished"));
  EXPECT_THAT(setup.run("deadletters show").out, HasSubstr("1 letters, 2 more were republished"));
  EXPECT_THAT(republish("--since 2025-01-01 --yes").out, HasSubstr("1 letters were republished"));
  EXPECT_THAT(copies(), SizeIs(3));

  // They are judged again: these are still unreadable, and get new letters.
  judge();
  EXPECT_THAT(letters(), SizeIs(6));
  EXPECT_THAT(setup.run("deadletters show").out, HasSubstr("3 letters, 3 more were republished"));
  EXPECT_THAT(republish("--yes").out, HasSubstr("3 letters were republished"));
  for (const auto& [letter, message] : copies()) EXPECT_EQ(message.headers.size(), 3U) << "one mark each";
}

TEST_F(DeadLetters, EachOnceWhereverTheCommandIsKilled) {
  const auto seed = std::random_device()();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937_64 random(seed);
  for (int i = 0; i < 2'300; ++i) feed(fmt::format("broken {}", i));
  judge();
  ASSERT_THAT(letters(), SizeIs(2'300));
  for (const char* point : {"before_produce", "after_produce", "before_commit", "after_commit"}) {
    const Ran killed = republish("--yes", fmt::format("DOPPEL_KILL_AT={}:{}", point, 1 + random() % 2));
    EXPECT_NE(killed.code, 0) << point;
  }
  // Then two at once: one of them may find that the other has taken over.
  auto one = std::async(std::launch::async, [&] { return republish("--yes"); });
  const Ran other = republish("--yes");
  for (const Ran& ran : {one.get(), other})
    EXPECT_TRUE(ran.code == 0 || ran.err.find("another process republishes") != std::string::npos) << ran.err;
  EXPECT_EQ(republish("--yes").code, 0);
  EXPECT_THAT(republish("--yes").out, HasSubstr("0 letters were republished"));
  const auto sent = copies();
  EXPECT_THAT(sent, SizeIs(2'300));
  for (const Message& letter : letters()) EXPECT_EQ(sent.count(name_of(letter)), 1U) << name_of(letter);
}

TEST_F(DeadLetters, WhatCannotBeSentStaysAndIsSaid) {
  client.set_topic_configs(setup.input(), {{"max.message.bytes", "3000000"}});
  feed("large " + std::string(200'000, 'x'));
  feed("small");
  judge();
  ASSERT_THAT(letters(), SizeIs(2));
  client.set_topic_configs(setup.input(), {{"max.message.bytes", "100000"}});
  setup.set({{"kafka.properties", "{compression.codec: none}"}});
  const Ran ran = republish("--yes");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("1 letters were republished"));
  EXPECT_THAT(ran.out, HasSubstr("its topic does not take so large a record"));
  EXPECT_THAT(copies(), SizeIs(1));

  // Letters of topics that are not read, and foreign records.
  Message foreign;
  foreign.value = "no letter";
  client.produce(setup.options().output.dead_letters, foreign);
  EXPECT_THAT(setup.run("deadletters show").out, HasSubstr("1 records are not dead letters of doppel"));
  setup.set({{"kafka.topics", "[another]"}});
  EXPECT_THAT(republish("").out, HasSubstr("1 letters stay: their topic is not one of kafka.topics"));
  EXPECT_THAT(republish("--yes").out, HasSubstr("0 letters were republished"));
}

}  // namespace
}  // namespace doppel::testing
