// The daemon on a real broker, undisturbed: it publishes exactly the expected records.

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>

#include "kafka/broker.h"
#include "kafka/case.h"
#include "kafka/index_setup.h"
#include "kafka/workload.h"

namespace doppel::testing {
namespace {

struct ServeCase {
  const char* name;
  IndexSetup::Settings settings;
  int topics, partitions;
  WorkloadOptions workload;
};

void PrintTo(const ServeCase& c, std::ostream* out) { *out << c.name; }

class Serve : public ::testing::TestWithParam<ServeCase> {};

TEST_P(Serve, PublishesWhatMustBeSaid) {
  const ServeCase& c = GetParam();
  const std::string& bootstrap = Broker::shared().bootstrap();
  IndexSetup setup(bootstrap, c.settings, c.partitions, c.topics);
  Client client(bootstrap);
  WorkloadOptions options = c.workload;
  options.topics = setup.inputs();
  options.partitions = c.partitions;
  std::vector<Message> messages = make_workload(options);
  produce(client, messages, 0, messages.size() / 2);
  const auto daemon = setup.serve();
  ASSERT_TRUE(daemon->await_line("ready")) << daemon->said();
  produce(client, messages, messages.size() / 2, messages.size());
  ASSERT_TRUE(setup.await_all(*daemon)) << daemon->said();
  daemon->terminate();
  ASSERT_EQ(daemon->await_exit(), 0) << daemon->said();
  const Verification result = setup.verify();
  EXPECT_TRUE(result.findings.empty()) << result.text() << "\n" << daemon->said();
  EXPECT_EQ(result.documents, messages.size());
  EXPECT_GT(result.duplicates, 0U);
  EXPECT_EQ(setup.compare_with_rebuilt(), "");
  std::cout << result.text() << "\n";
}

// No restart helps, so the service is not started again for ever.
TEST(OtherSettings, EndAStartWithTwo) {
  Case c;
  c.produce_next(30);
  const auto daemon = c.start();
  c.await_all(*daemon);
  Case::stop(*daemon);
  for (const bool snapshot : {true, false}) {
    if (!snapshot) std::filesystem::remove_all(c.setup.state());  // the index log says the same
    for (const IndexSetup::Settings& other :
         {IndexSetup::Settings{{"threshold", "0.9"}}, {{"threshold", "0.8"}, {"shingle_words", "3"}}}) {
      c.setup.set(other);
      const auto refused = c.setup.serve();
      EXPECT_EQ(refused->await_exit(), 2) << refused->said();
    }
    c.setup.set({{"shingle_words", "5"}});
  }
}

// Returns the text after `begin` in an event, up to the next quote.
std::string text_after(const std::string& begin, const Message& event) {
  const size_t at = event.value->find(begin);
  if (at == std::string::npos) return "no " + begin;
  const size_t from = at + begin.size();
  return event.value->substr(from, event.value->find('"', from) - from);
}

TEST(EventKeys, AreOfTheRecordTheClusterOrTheOriginal) {
  for (const std::string key : {"input", "cluster_id", "original_id"}) {
    IndexSetup setup(Broker::shared().bootstrap(), {{"output.key", key}, {"kafka.partitions", "3"}});
    Client client(setup.bootstrap());
    std::vector<Message> messages = make_workload({.documents = 300, .topics = setup.inputs()});
    std::set<std::string> keys;
    for (const Message& m : messages)
      if (m.key) keys.insert(*m.key);
    produce(client, messages, 0, messages.size());
    const auto daemon = setup.serve();
    ASSERT_TRUE(setup.await_all(*daemon)) << daemon->said();
    daemon->terminate();
    ASSERT_EQ(daemon->await_exit(), 0) << daemon->said();
    const std::vector<Message> events = read_all(setup.bootstrap(), setup.options().output.topic);
    ASSERT_GT(events.size(), 20U);
    std::map<std::string, std::set<int32_t>> partitions;
    for (const Message& event : events) {
      ASSERT_TRUE(event.value);
      if (key == "input") {
        EXPECT_TRUE(!event.key || keys.contains(*event.key));
        continue;
      }
      ASSERT_TRUE(event.key) << *event.value;
      EXPECT_EQ(*event.key,
                text_after(key == "cluster_id" ? R"("cluster_id":")" : R"("original":{"id":")", event));
      partitions[*event.key].insert(event.partition);
    }
    for (const auto& [name, where] : partitions) EXPECT_EQ(where.size(), 1U) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Settings, Serve,
    ::testing::Values(
        ServeCase{"defaults", {}, 1, 3, {.documents = 600}},
        ServeCase{
            "removals", {{"tombstones", "key"}, {"kafka.batch_documents", "20"}}, 1, 3, {.documents = 600}},
        ServeCase{"updates",
                  {{"tombstones", "key"},
                   {"on_update", "replace"},
                   {"output.best", "longest"},
                   {"output.verdicts", "all"},
                   {"output.unique_topic", "~-unique"}},
                  1,
                  2,
                  {.documents = 600, .same_keys = 0.3}},
        ServeCase{"topics",
                  {{"kafka.topics", "['^~-in-.*']"}, {"verify", "signature"}, {"threads", "2"}},
                  2,
                  2,
                  {.documents = 600}},
        ServeCase{"expiry",
                  {{"expire_after", "20d"}, {"tombstones", "key"}},
                  1,
                  2,
                  {.documents = 4000, .mean_words = 25, .step_ms = 3'600'000}}),
    [](const auto& of) { return of.param.name; });

}  // namespace
}  // namespace doppel::testing
