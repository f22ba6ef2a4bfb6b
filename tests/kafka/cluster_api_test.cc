// The HTTP pages and requests of the processes of an index on many machines.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "absl/strings/str_join.h"
#include "http/raw_client.h"
#include "kafka/broker.h"
#include "kafka/index_setup.h"

namespace doppel::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kToken[] = "Authorization: Bearer correct-horse-battery\r\n";

class ClusterApi : public ::testing::Test {
 protected:
  struct Process {
    std::unique_ptr<Daemon> daemon;
    int port = 0;
  };

  ClusterApi()
      : index_(bootstrap_,
               {{"cluster.order", "~-order"}, {"output.verdicts", "all"}, {"input.tags", "[crawl]"}}, 1) {
    write_file(index_.path("token"), "correct-horse-battery\n");
    index_.set({{"http.token_file", index_.path("token")}});
  }

  Process start(const std::string& name, const std::vector<std::string>& role) const {
    std::vector<std::string> arguments{"serve", "--config", index_.config_file(), "--state",
                                       index_.path(name)};
    arguments.insert(arguments.end(), role.begin(), role.end());
    Process out{std::make_unique<Daemon>(
        arguments,
        Daemon::Environment{{"DOPPEL_HASH_KEY", kHashKey}, {"DOPPEL_HTTP_LISTEN", "127.0.0.1:0"}})};
    out.port = out.daemon->await_http();
    EXPECT_NE(out.port, 0) << out.daemon->said();
    return out;
  }

  static std::string document(const std::string& id, int text, const std::string& crawl) {
    std::string words;
    for (int w = 0; w < 60; ++w) words += fmt::format("word{} ", text * 100 + w);
    return fmt::format(R"({{"id":"{}","crawl":"{}","text":"{}"}})", id, crawl, words);
  }
  void feed(const std::vector<std::string>& documents) {
    std::vector<Message> messages;
    for (const std::string& each : documents) messages.push_back({.value = each});
    client_.produce(index_.input(), messages);
  }
  // Whether an event that contains `part` is there, or comes.
  ::testing::AssertionResult comes(const std::string& part) {
    const auto has_it = [&](const std::string& event) { return event.find(part) != std::string::npos; };
    if (std::any_of(seen_.begin(), seen_.end(), has_it)) return ::testing::AssertionSuccess();
    for (int i = 0; i < 120; ++i) {
      const std::optional<Message> event = events_->next(std::chrono::milliseconds(500));
      if (!event || !event->value) continue;
      seen_.push_back(*event->value);
      if (has_it(seen_.back())) return ::testing::AssertionSuccess();
    }
    return ::testing::AssertionFailure() << part << " does not come";
  }
  // The present value; empty: there is no such series.
  static std::string metric(const Process& process, const std::string& series) {
    const std::string text = get(process.port, "/metrics");
    const size_t at = text.find("\n" + series + " ");
    if (at == std::string::npos) return "";
    const size_t value = at + series.size() + 2;
    return text.substr(value, text.find('\n', value) - value);
  }
  static void stop(Process& process) {
    process.daemon->terminate();
    EXPECT_EQ(process.daemon->await_exit(), 0) << process.daemon->said();
  }

  const std::string bootstrap_ = Broker::shared().bootstrap();
  Client client_{bootstrap_};
  IndexSetup index_;
  std::optional<Reader> events_;  // once the topic is there
  std::vector<std::string> seen_;
};

TEST_F(ClusterApi, TheResolverForgetsAndMatchersCheck) {
  Process resolver = start("resolver", {"--role", "resolver"});
  events_.emplace(bootstrap_, index_.options().output.topic);
  Process even = start("even", {"--role", "matcher", "--shards", "0/2"});
  Process odd = start("odd", {"--role", "matcher", "--shards", "1/2"});
  // The last process to start creates the topic between them.
  Process signer = start("signer", {"--role", "signer"});
  feed({document("a", 1, "one"), document("b", 2, "two"), document("c", 3, "two"), document("d", 4, "one")});
  ASSERT_TRUE(comes(R"("id":"d","verdict":"unique")")) << resolver.daemon->said();

  // Each matcher checks what its originals resemble; a resolver has none.
  const auto check = [&](int port, int text) {
    return post(port, "/v1/check", document("x", text, ""), "Content-Type: application/json\r\n");
  };
  const std::string copy = R"("verdict":"duplicate","kind":"exact")", none = R"("verdict":"unique")";
  // Once the matcher answers as of the batch, it has applied it.
  while (check(odd.port, 4).find(copy) == std::string::npos) std::this_thread::yield();
  EXPECT_THAT(check(odd.port, 4), HasSubstr(R"("shards":"1/2")"));
  EXPECT_THAT(check(even.port, 4), HasSubstr(none));
  EXPECT_EQ(status_of(check(resolver.port, 4)), 501);

  // The resolver looks up and forgets originals of all matchers, by API and by file.
  const auto forget = [&](int port, const std::string& what) {
    return post(port, "/v1/documents" + what, "", kToken, "DELETE");
  };
  EXPECT_EQ(status_of(get(resolver.port, "/v1/documents/d", kToken)), 200);
  EXPECT_EQ(status_of(forget(even.port, "/a")), 403);
  EXPECT_THAT(forget(resolver.port, "/a"), HasSubstr(R"({"forgotten":1,)"));
  EXPECT_TRUE(comes(R"("type":"original-removed")"));
  EXPECT_EQ(status_of(forget(resolver.port, "/a")), 404);
  EXPECT_EQ(status_of(get(resolver.port, "/v1/documents/a", kToken)), 404);
  const Ran ran = run_doppel("forget --state " + index_.path("resolver") + " --where crawl=two");
  EXPECT_EQ(ran.code, 0) << ran.err;
  feed({document("a2", 1, "three"), document("b2", 2, "three"), document("d2", 4, "three")});
  EXPECT_TRUE(comes(R"("id":"a2","verdict":"unique")"));
  EXPECT_TRUE(comes(R"("id":"b2","verdict":"unique")"));
  EXPECT_TRUE(comes(R"("document":{"id":"d2")")) << absl::StrJoin(seen_, "\n");

  // The input is opened again after a request to move it, which is refused.
  const std::string request = index_.path("resolver") + "/requests/one";
  write_file(request, "set elsewhere/0=7\n");
  std::filesystem::rename(request, request + ".offsets");
  while (!std::filesystem::exists(request + ".changed")) std::this_thread::yield();
  EXPECT_TRUE(resolver.daemon->await_line("ready")) << resolver.daemon->said();

  // Pages and metrics.
  EXPECT_THAT(get(resolver.port, "/"),
              ::testing::AllOf(HasSubstr("0/2"), HasSubstr("1/2"), HasSubstr("id=events")));
  EXPECT_THAT(get(even.port, "/"),
              ::testing::AllOf(HasSubstr("matcher of 0/2"), Not(HasSubstr("id=events"))));
  EXPECT_EQ(metric(resolver, "doppel_cluster_wait_seconds"), "0");
  EXPECT_EQ(metric(resolver, R"(doppel_cluster_matcher_ahead_records{shards="1/2"})"), "0");
  EXPECT_EQ(metric(even, R"(doppel_cluster_role{role="matcher",shards="0/2"})"), "1");
  EXPECT_EQ(metric(even, "doppel_matcher_answered_documents_total"), "7");
  EXPECT_EQ(metric(signer, R"(doppel_cluster_role{role="signer",shards=""})"), "1");
  EXPECT_EQ(metric(signer, "doppel_signer_records_total"), "7");
  EXPECT_EQ(metric(signer, "doppel_index_documents"), "") << "a signer has no index";
  EXPECT_EQ(status_of(get(signer.port, "/ready")), 200);
  // The library's statistics are up to a second old.
  const auto lag = [](const std::string& topic) {
    return fmt::format(R"(doppel_consumer_lag_records{{topic="{}",partition="0"}})", topic);
  };
  for (const Process* each : {&resolver, &even})
    while (metric(*each, lag(index_.options().cluster.order)) != "0") std::this_thread::yield();
  while (metric(signer, lag(index_.input())) != "0") std::this_thread::yield();

  // No matcher answers for the odd shards.
  stop(odd);
  feed({document("e", 5, "one")});
  while (get(resolver.port, "/").find("1/2 (") == std::string::npos) std::this_thread::yield();
  EXPECT_NE(metric(resolver, "doppel_cluster_wait_seconds"), "0");
  odd = start("odd", {"--role", "matcher", "--shards", "1/2"});
  EXPECT_TRUE(comes(R"("id":"e","verdict":"unique")"));
  for (Process* each : {&resolver, &even, &odd, &signer}) stop(*each);

  // Another resolver's directory is restored from the log.
  resolver = start("another", {"--role", "resolver"});
  EXPECT_EQ(status_of(get(resolver.port, "/v1/documents/a", kToken)), 404);
  EXPECT_EQ(status_of(get(resolver.port, "/v1/documents/c", kToken)), 404);
  EXPECT_EQ(status_of(get(resolver.port, "/v1/documents/b2", kToken)), 200);
  stop(resolver);
}

}  // namespace
}  // namespace doppel::testing
