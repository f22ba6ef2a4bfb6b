// The API of a daemon on Kafka: requests to forget go through the index log.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>

#include "http/raw_client.h"
#include "kafka/broker.h"
#include "kafka/index_setup.h"

namespace doppel::testing {
namespace {

using ::testing::HasSubstr;

constexpr char kToken[] = "Authorization: Bearer correct-horse-battery\r\n";

Message document(const std::string& id, int text, const std::string& crawl) {
  std::string words;
  for (int w = 0; w < 60; ++w) words += fmt::format("word{} ", text * 100 + w);
  return {.value = fmt::format(R"({{"id":"{}","crawl":"{}","text":"{}"}})", id, crawl, words)};
}

class KafkaApi : public ::testing::Test {
 protected:
  KafkaApi()
      : setup_(Broker::shared().bootstrap(), {{"input.tags", "[crawl]"}, {"output.verdicts", "all"}}, 1),
        client_(setup_.bootstrap()) {
    write_file(setup_.path("token"), "correct-horse-battery\n");
    setup_.set({{"http.token_file", setup_.path("token")}});
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
  void feed(std::vector<Message> messages) {
    client_.produce(setup_.input(), messages);
    ASSERT_TRUE(setup_.await_all(*daemon_)) << daemon_->said();
  }
  std::string remove(const std::string& what) const {
    return post(port_, "/v1/documents" + what, "", kToken, "DELETE");
  }
  int looked_up(const std::string& id) const { return status_of(get(port_, "/v1/documents/" + id, kToken)); }
  bool told(const std::string& part) const {
    const std::vector<Message> events = read_all(setup_.bootstrap(), setup_.options().output.topic);
    return std::any_of(events.begin(), events.end(),
                       [&](const Message& event) { return event.value->find(part) != std::string::npos; });
  }

  IndexSetup setup_;
  Client client_;
  std::unique_ptr<Daemon> daemon_;
  int port_ = 0;
};

TEST_F(KafkaApi, WhatItForgetsIsForgottenInTheLog) {
  start();
  feed({document("a", 1, "one"), document("b", 2, "two"), document("c", 3, "two"), document("d", 4, "one")});
  EXPECT_THAT(get(port_, "/"), HasSubstr(setup_.input()));  // the lag of its partitions
  const std::string checked =
      post(port_, "/v1/check", *document("x", 4, "").value, "Content-Type: application/json\r\n");
  EXPECT_THAT(checked, HasSubstr(R"("verdict":"duplicate","kind":"exact")"));
  EXPECT_EQ(status_of(post(port_, "/v1/documents/a", "", "", "DELETE")), 401);
  EXPECT_THAT(remove("/a"), HasSubstr(R"({"forgotten":1,)"));
  EXPECT_THAT(remove("?crawl=two"), HasSubstr(R"({"forgotten":2,)"));
  EXPECT_EQ(status_of(remove("/a")), 404);
  EXPECT_EQ(looked_up("d"), 200);
  EXPECT_TRUE(told(R"("type":"original-removed")"));
  daemon_->kill();
  daemon_->await_exit();

  // After a crash, and on an index that was restored from the log.
  for (const std::string& state : {setup_.state(), setup_.path("from-the-log")}) {
    setup_.set({{"state.directory", state}});
    start();
    EXPECT_EQ(looked_up("a"), 404);
    EXPECT_EQ(looked_up("b"), 404);
    EXPECT_EQ(looked_up("d"), 200);
    if (state != setup_.path("from-the-log")) {
      feed({document("a2", 1, "three")});
      EXPECT_TRUE(told(R"("id":"a2","verdict":"unique")"));
    }
    EXPECT_EQ(looked_up("a2"), 200);
    stop();
  }
  EXPECT_EQ(setup_.compare_with_rebuilt(), "");
}

TEST_F(KafkaApi, ADryRunForgetsNothing) {
  start();
  feed({document("a", 1, "one")});
  stop();
  setup_.set({{"dry_run", "true"}});
  start();
  EXPECT_EQ(status_of(remove("/a")), 403);
  EXPECT_EQ(looked_up("a"), 200);
  stop();
}

}  // namespace
}  // namespace doppel::testing
