// Documents by HTTP on a daemon with Kafka: they go to the input topic, and are answered with their verdicts.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <set>
#include <sstream>
#include <thread>

#include "http/raw_client.h"
#include "kafka/broker.h"
#include "kafka/index_setup.h"

namespace doppel::testing {
namespace {

using ::testing::HasSubstr;

const std::string kToken = "Authorization: Bearer correct-horse-battery\r\n";
const std::string kJson = kToken + "Content-Type: application/json\r\n";
const std::string kLines = kToken + "Content-Type: application/x-ndjson\r\n";

std::string document(const std::string& id, int text, const std::string& more = "") {
  std::string words;
  for (int w = 0; w < 60; ++w) words += fmt::format("word{} ", text * 100 + w);
  return fmt::format(R"({{"id":"{}","text":"{}{}"}})", id, words, more);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) out.push_back(line);
  return out;
}

class Produce : public ::testing::Test {
 protected:
  Produce()
      : setup_(Broker::shared().bootstrap(), {{"output.verdicts", "all"}}, 2), client_(setup_.bootstrap()) {
    write_file(setup_.path("token"), "correct-horse-battery\n");
    setup_.set({{"http.token_file", setup_.path("token")}, {"kafka.produce_from_http", "true"}});
  }

  void start() {
    daemon_ = setup_.serve({{"DOPPEL_HTTP_LISTEN", "127.0.0.1:0"}});
    port_ = daemon_->await_http();
    ASSERT_NE(port_, 0) << daemon_->said();
  }
  void stop() {
    daemon_->terminate();
    EXPECT_EQ(daemon_->await_exit(), 0) << daemon_->said();
  }
  std::string insert(const std::string& body, const std::string& headers = kJson) const {
    return post(port_, "/v1/documents", body, headers);
  }
  size_t in_topic() const { return read_all(setup_.bootstrap(), setup_.input()).size(); }
  // How many events say that this document is unique, or a copy.
  size_t told(const std::string& id) const {
    const std::vector<Message> events = read_all(setup_.bootstrap(), setup_.options().output.topic);
    return static_cast<size_t>(std::count_if(events.begin(), events.end(), [&](const Message& event) {
      const size_t at = event.value->find("\"id\":\"");  // of the document; its original's comes later
      return event.value->find(R"("verdict":"skipped")") == std::string::npos &&
             event.value->compare(at, id.size() + 7, "\"id\":\"" + id + '"') == 0;
    }));
  }

  IndexSetup setup_;
  Client client_;
  std::unique_ptr<Daemon> daemon_;
  int port_ = 0;
};

TEST_F(Produce, NeedsTheSetting) {
  setup_.set({{"kafka.produce_from_http", "false"}});
  start();
  const std::string refused = insert(document("a", 1));
  EXPECT_EQ(status_of(refused), 501);
  EXPECT_THAT(refused, HasSubstr(setup_.input()));
  EXPECT_THAT(refused, HasSubstr("kafka.produce_from_http"));
  stop();
}

TEST_F(Produce, DocumentsGoToTheTopicAndAreAnswered) {
  start();
  const std::string answer =
      insert(document("a", 1) + "\nno JSON\n" + document("b", 1, "and more") + "\n", kLines);
  EXPECT_EQ(status_of(answer), 200);
  EXPECT_THAT(answer, HasSubstr("Doppel-Rejected: 1\r\n"));
  const std::vector<std::string> lines = lines_of(body_of(answer));
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_THAT(lines[1], HasSubstr(R"({"line":2,"error":{"status":422,"message":"not JSON)"));
  // Partitions have no order, so either may be the original.
  const bool a_first = lines[0].find(R"("verdict":"unique")") != std::string::npos;
  EXPECT_THAT(lines[a_first ? 2 : 0], HasSubstr(R"("kind":"near")"));

  const std::vector<Message> stored = read_all(setup_.bootstrap(), setup_.input());
  ASSERT_EQ(stored.size(), 2u);
  for (const Message& message : stored) {
    const size_t line = message.key == "a" ? 0 : 2;
    EXPECT_EQ(*message.value, line == 0 ? document("a", 1) : document("b", 1, "and more"));
    EXPECT_NE(message.header("doppel.http"), "");
    EXPECT_THAT(lines[line],
                HasSubstr(fmt::format("{}/{}/{}", setup_.input(), message.partition, message.offset)));
  }

  EXPECT_THAT(post(port_, "/v1/documents/c", document("c", 3), kJson, "PUT"),
              HasSubstr(R"("id":"c","verdict":"unique")"));
  EXPECT_EQ(status_of(post(port_, "/v1/documents/d", document("c", 3), kJson, "PUT")), 400);
  EXPECT_THAT(post(port_, "/v1/documents/e", R"({"text":"some words that nobody else has ever said before"})",
                   kJson, "PUT"),
              HasSubstr(R"("id":"e")"));
  EXPECT_EQ(status_of(insert(document("x", 9), "Content-Type: application/json\r\n")), 401);
  EXPECT_EQ(status_of(insert("text", kToken + "Content-Type: text/plain\r\n")), 415);
  EXPECT_EQ(status_of(post(port_, "/v1/documents?url=http://x.example/", document("x", 9), kJson)), 400);
  EXPECT_EQ(in_topic(), 4u);
  EXPECT_EQ(status_of(insert(document("f", 6))), 200);
  stop();
  EXPECT_EQ(setup_.compare_with_rebuilt(), "");
}

TEST_F(Produce, ARequestThatComesAgainHearsTheSame) {
  start();
  const std::string original = body_of(insert(document("a", 1))),
                    copy = body_of(insert(document("b", 1, "and more")));
  EXPECT_THAT(copy, HasSubstr(R"("kind":"near")"));
  EXPECT_EQ(body_of(insert(document("a", 1))), original);
  EXPECT_EQ(body_of(insert(document("b", 1, "and more"))), copy);
  EXPECT_EQ(in_topic(), 2u);
  // The same on other connections while the first is on its way: one record.
  std::vector<std::string> heard(8);
  {
    std::vector<std::jthread> clients;
    for (std::string& each : heard) clients.emplace_back([&] { each = body_of(insert(document("c", 3))); });
  }
  EXPECT_EQ(std::set<std::string>(heard.begin(), heard.end()).size(), 1u);
  EXPECT_EQ(in_topic(), 3u);
  // With other words it is another document.
  EXPECT_NE(body_of(insert(document("a", 4))), original);
  EXPECT_EQ(in_topic(), 4u);
  daemon_->kill();
  daemon_->await_exit();

  // Another run does not know what was answered, but what is in the index.
  start();
  EXPECT_EQ(body_of(insert(document("a", 1))), original);
  EXPECT_EQ(in_topic(), 5u);
  EXPECT_EQ(told("a"), 2u);  // the two texts
  // What was forgotten is inserted anew, also if it was answered lately.
  EXPECT_EQ(status_of(post(port_, "/v1/documents/a", "", kToken, "DELETE")), 200);
  const std::string anew = body_of(insert(document("a", 1)));
  EXPECT_THAT(anew, HasSubstr(R"("verdict":"unique")"));
  EXPECT_NE(anew, original);
  // Records that did not come by HTTP are copies of each other, as always.
  std::vector<Message> twice{{.value = document("p", 7)}, {.value = document("p", 7)}};
  client_.produce(setup_.input(), twice);
  ASSERT_TRUE(setup_.await_all(*daemon_)) << daemon_->said();
  EXPECT_EQ(told("p"), 2u);
  stop();
  EXPECT_EQ(setup_.compare_with_rebuilt(), "");
}

// Words that cannot be compressed much: a limit of the topic counts compressed bytes.
std::string random_document(const std::string& id, size_t bytes, std::mt19937& random) {
  std::string words;
  while (words.size() < bytes) {
    for (int i = 0; i < 7; ++i) words += "abcdefghijklmnopqrstuvwxyz012345"[random() % 32];
    words += ' ';
  }
  return fmt::format(R"({{"id":"{}","text":"{}"}})", id, words);
}

TEST_F(Produce, ADocumentThatIsLargerThanTheTopicTakesCostsItsLine) {
  std::mt19937 random(7);
  client_.set_topic_configs(setup_.input(), {{"max.message.bytes", "20000"}});
  start();
  std::string body;
  for (int i = 0; i < 9; ++i)
    body += random_document(fmt::format("a{}", i), i % 4 == 1 ? 60'000 : 3'000, random) + "\n";
  const std::string answer = insert(body, kLines);
  EXPECT_EQ(status_of(answer), 200);
  EXPECT_THAT(answer, HasSubstr("Doppel-Rejected: 2\r\n"));
  const std::vector<std::string> lines = lines_of(body_of(answer));
  ASSERT_EQ(lines.size(), 9u);
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i % 4 == 1) {
      EXPECT_THAT(lines[i],
                  HasSubstr(fmt::format(R"({{"line":{},"error":{{"status":413,"message":")", i + 1)));
      EXPECT_THAT(lines[i], HasSubstr(setup_.input() + " takes (max.message.bytes)"));
    } else {
      EXPECT_THAT(lines[i], HasSubstr(fmt::format(R"("id":"a{}","verdict":"unique")", i)));
    }
  }
  EXPECT_EQ(in_topic(), 7u);
  EXPECT_THAT(insert(random_document("b", 60'000, random)), HasSubstr(R"({"line":1,"error":{"status":413,)"));

  // The limit is lowered while the daemon has a producer. Together these are too large, and each is not.
  client_.set_topic_configs(setup_.input(), {{"max.message.bytes", "5000"}});
  body.clear();
  for (int i = 0; i < 12; ++i)
    body += random_document(fmt::format("c{}", i), i == 5 ? 15'000 : 3'000, random) + "\n";
  const std::vector<std::string> later = lines_of(body_of(insert(body, kLines)));
  ASSERT_EQ(later.size(), 12u);
  for (size_t i = 0; i < later.size(); ++i)
    EXPECT_THAT(later[i], HasSubstr(i == 5 ? std::string(R"({"line":6,"error":{"status":413,)")
                                           : fmt::format(R"("id":"c{}","verdict":"unique")", i)));
  EXPECT_EQ(in_topic(), 18u);
  stop();
}

TEST_F(Produce, ManyClientsAtOnce) {
  start();
  constexpr int kClients = 8, kRequests = 20;
  std::vector<std::string> answers(kClients);
  {
    std::vector<std::jthread> clients;
    for (int c = 0; c < kClients; ++c) {
      clients.emplace_back([&, c] {
        for (int i = 0; i < kRequests; ++i) {
          const std::string id = fmt::format("d{}-{}", c, i);
          const std::string answer = insert(document(id, c * 100 + i));
          EXPECT_EQ(status_of(answer), 200) << answer;
          EXPECT_THAT(body_of(answer), HasSubstr(fmt::format(R"("id":"{}","verdict":"unique")", id)));
          answers[c] += body_of(answer);
        }
      });
    }
  }
  std::set<std::string> lines;
  for (const std::string& each : answers)
    for (const std::string& line : lines_of(each)) lines.insert(line.substr(line.find("event_id")));
  EXPECT_EQ(lines.size(), static_cast<size_t>(kClients * kRequests));
  EXPECT_EQ(in_topic(), static_cast<size_t>(kClients * kRequests));
  stop();
}

TEST_F(Produce, AnIdleDaemonAnswersQuestionsAtOnce) {
  start();
  insert(document("a", 1));
  std::vector<std::chrono::microseconds> took;
  for (int i = 0; i < 21; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_THAT(post(port_, "/v1/check", document("x", 1), "Content-Type: application/json\r\n"),
                HasSubstr(R"("kind":"exact")"));
    took.push_back(
        std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begin));
  }
  std::sort(took.begin(), took.end());
  RecordProperty("median_us", static_cast<int>(took[10].count()));
  EXPECT_LT(took[10], std::chrono::milliseconds(10));  // the source waits 100 ms for records
  stop();
}

}  // namespace
}  // namespace doppel::testing
