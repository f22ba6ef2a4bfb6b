// An index moves to another cluster, whose topics hold the same records at the same offsets, or others.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "kafka/case.h"

namespace doppel::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// An index of 300 documents on the shared broker, and a cluster to which its input was mirrored.
class Moved : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { there = Broker::own(); }
  static void TearDownTestSuite() { there.reset(); }

  void SetUp() override {
    c.produce_next(300);
    const auto daemon = c.start();
    c.await_all(*daemon);
    Case::stop(*daemon);
    mirror.create_topic(c.setup.input(), 3);
    messages = c.messages;
    produce(mirror, messages, 0, 300);
    c.setup.set({{"kafka.brokers", there->bootstrap()}, {"kafka.index_log", "~-index-2"}});
  }

  // Produces the next documents, waits until the daemon there has judged them, and returns the ids of their
  // events. `made`: the topics' names in the log.
  std::vector<std::string> events_of_next(Daemon& daemon, size_t count, const std::string& made = "") {
    produce(mirror, messages, 300, 300 + count);
    LogFollower log(there->bootstrap(), c.setup.options().kafka.index_log);
    Offsets ends;
    for (const auto& [place, end] : ends_of(messages, 300 + count))
      ends[{place.first + made, place.second}] = end;
    EXPECT_TRUE(log.await(ends, std::chrono::seconds(60), [&] {
      return daemon.await_exit(Daemon::Seconds(0)).has_value();
    })) << daemon.said();
    std::vector<std::string> ids;
    for (const Message& m : read_all(there->bootstrap(), c.setup.options().output.topic))
      ids.push_back(m.header("ce_id"));
    return ids;
  }
  // Counts the events about earlier documents.
  size_t of_earlier(const std::vector<std::string>& ids) {
    std::set<std::string> later;
    for (size_t i = 300; i < messages.size(); ++i)
      later.insert(fmt::format("{}/{}/{}", c.setup.input(), messages[i].partition, messages[i].offset));
    return std::count_if(ids.begin(), ids.end(), [&](const auto& id) { return !later.contains(id); });
  }

  static std::unique_ptr<Broker> there;
  Case c;
  Client mirror{there->bootstrap()};
  std::vector<Message> messages;
};
std::unique_ptr<Broker> Moved::there;

TEST_F(Moved, WithItsOffsetsContinuesWhereItWas) {
  // Without offsets it is refused before anything is created.
  const Ran refused = c.setup.run("rebuild --from state");
  EXPECT_EQ(refused.code, 3) << refused.err;
  EXPECT_THAT(refused.err, AllOf(HasSubstr("--offsets keep"), HasSubstr("--offsets FILE")));
  EXPECT_FALSE(mirror.topic_exists(c.setup.options().kafka.index_log));
  EXPECT_FALSE(mirror.topic_exists(c.setup.options().output.topic));

  const Ran made = c.setup.run("rebuild --from state --offsets keep");
  ASSERT_EQ(made.code, 0) << made.err;
  const auto daemon = c.start();
  const std::vector<std::string> ids = events_of_next(*daemon, 200);
  EXPECT_GT(ids.size(), 10U);
  EXPECT_EQ(of_earlier(ids), 0U);
  Case::stop(*daemon);
}

TEST_F(Moved, AStartThereMakesNothing) {
  const auto daemon = c.setup.serve();
  EXPECT_EQ(daemon->await_exit(), 2) << daemon->said();
  EXPECT_THAT(daemon->said(),
              AllOf(HasSubstr("holds an index of the cluster "), HasSubstr("--offsets keep|FILE")));
  const Options& o = c.setup.options();
  for (const std::string& topic : {o.kafka.index_log, o.output.topic, o.output.dead_letters})
    EXPECT_FALSE(mirror.topic_exists(topic)) << topic;
}

// Each document is judged again, and an original is none of its own copies.
TEST_F(Moved, WithOffsetsFromAFileReadsFromThere) {
  const std::string file = c.setup.path("offsets");
  std::ofstream(file) << "# of the mirror\n"
                      << c.setup.input() << "/0=beginning\n"
                      << c.setup.input() << "/1=0\n";
  const Ran short_of_one = c.setup.run("rebuild --from state --offsets " + file);
  EXPECT_EQ(short_of_one.code, 2) << short_of_one.err;
  EXPECT_THAT(short_of_one.err, HasSubstr("no line for " + c.setup.input() + "/2"));
  std::ofstream(file, std::ios::app) << c.setup.input() << "/2=beginning\n";
  const Ran made = c.setup.run("rebuild --from state --offsets " + file);
  ASSERT_EQ(made.code, 0) << made.err;
  const auto daemon = c.start();
  const std::vector<std::string> ids = events_of_next(*daemon, 200, "@2");
  EXPECT_EQ(std::set(ids.begin(), ids.end()).size(), ids.size());
  for (const std::string& id : ids) EXPECT_THAT(id, HasSubstr(c.setup.input() + "@2/"));
  Case::stop(*daemon);
  std::set<std::string> again, expected;
  for (const std::string& id : ids) again.insert(id);
  for (size_t i = 300; i < 500; ++i)
    again.erase(fmt::format("{}@2/{}/{}", c.setup.input(), messages[i].partition, messages[i].offset));
  for (const Message& m : read_all(Broker::shared().bootstrap(), c.setup.options().output.topic))
    expected.insert(c.setup.input() + "@2" + m.header("ce_id").substr(c.setup.input().size()));
  EXPECT_EQ(again, expected);
}

}  // namespace
}  // namespace doppel::testing
