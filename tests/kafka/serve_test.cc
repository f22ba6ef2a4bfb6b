// The daemon on a real broker, left alone: everything that it publishes is what must be published.

#include <gtest/gtest.h>

#include "kafka/broker.h"
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

INSTANTIATE_TEST_SUITE_P(
    Settings, Serve,
    ::testing::Values(
        ServeCase{"defaults", {}, 1, 3, {.documents = 600}},
        ServeCase{
            "removals", {{"tombstones", "key"}, {"kafka.batch_documents", "20"}}, 1, 3, {.documents = 600}},
        ServeCase{"updates",
                  {{"tombstones", "key"},
                   {"on_update", "replace"},
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
