// doppel clusters on a topic gives the same output as on a file with the same events.

#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <tuple>

#include "kafka/case.h"

namespace doppel::testing {
namespace {

using ::testing::HasSubstr;

TEST(ClustersOfTopic, AreThoseOfItsEvents) {
  Case c(IndexSetup::Settings{{"kafka.partitions", "3"}});
  c.produce_next(c.messages.size());
  const auto daemon = c.start();
  c.await_all(*daemon);
  const auto read_events = [&] { return read_all(c.setup.bootstrap(), c.setup.options().output.topic); };
  const std::string first = read_events().at(0).value.value();
  const std::string name = "\"cluster_id\":\"";
  const size_t begin = first.find(name) + name.size();
  const std::string original = first.substr(begin, first.find('"', begin) - begin);
  const Ran forgotten = c.setup.run("forget --event-id " + original);
  EXPECT_EQ(forgotten.code, 0) << original << forgotten.err;
  Case::stop(*daemon);

  std::vector<Message> events = read_events();
  std::sort(events.begin(), events.end(), [](const Message& a, const Message& b) {
    return std::tie(a.timestamp_ms, a.partition, a.offset) < std::tie(b.timestamp_ms, b.partition, b.offset);
  });
  std::ofstream file(c.setup.path("events.jsonl"));
  for (const Message& event : events) file << event.value.value() << "\n";
  file.close();
  const Ran expected = run_doppel("clusters --events " + c.setup.path("events.jsonl"));
  ASSERT_EQ(expected.code, 0) << expected.err;
  EXPECT_THAT(expected.out, HasSubstr("\"cluster_id\""));
  EXPECT_THAT(expected.out, HasSubstr("\"removed\""));

  const Ran read = c.setup.run("clusters --events " + c.setup.options().output.topic);
  ASSERT_EQ(read.code, 0) << read.err;
  EXPECT_EQ(read.out, expected.out);

  const Ran unknown = c.setup.run("clusters --events no-such-topic");
  EXPECT_EQ(unknown.code, 3);
  EXPECT_THAT(unknown.err, HasSubstr("the topic no-such-topic does not exist"));
}

}  // namespace
}  // namespace doppel::testing
