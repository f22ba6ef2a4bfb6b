// Brokers lose the last records of an input topic that were judged: the broker is killed, and the last batch
// of a partition is cut off its log, as a power loss cuts it. The topic is the same, other records come at
// these offsets, and nobody but doppel can know.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "kafka/case.h"
#include "simdjson.h"
#include "state/state_dir.h"

namespace doppel::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

uint64_t big_endian(const std::string& bytes, size_t at, size_t size) {
  uint64_t out = 0;
  for (size_t i = 0; i < size; ++i) out = out << 8 | static_cast<uint8_t>(bytes[at + i]);
  return out;
}

class LostTail : public ::testing::Test {
 protected:
  static constexpr size_t kBatchHead = 12;  // base offset, length of the rest

  static void SetUpTestSuite() { broker = Broker::own(); }
  static void TearDownTestSuite() { broker.reset(); }

  // Cuts the last batch off a partition's log. The broker must have been killed.
  void cut(int32_t partition) const {
    const std::string folder = fmt::format("{}-{}", c.setup.input(), partition);
    for (const auto& entry : std::filesystem::recursive_directory_iterator(broker->folder())) {
      if (entry.path().extension() != ".log" || entry.path().parent_path().filename() != folder) continue;
      std::ifstream file(entry.path(), std::ios::binary);
      const std::string bytes{std::istreambuf_iterator<char>(file), {}};
      size_t last = 0;
      for (size_t at = 0; at + kBatchHead < bytes.size(); at += kBatchHead + big_endian(bytes, at + 8, 4)) {
        if (big_endian(bytes, at + 8, 4) == 0) break;  // the file is longer than its contents
        last = at;
      }
      ASSERT_GT(last, 0U) << entry.path();
      std::filesystem::resize_file(entry.path(), last);
      return;
    }
    FAIL() << "no log of " << folder;
  }

  // 500 documents are judged, then 20 in batches of their own.
  void read() {
    c.produce_next(500);
    daemon = c.start();
    c.await_all(*daemon);
    c.produce_next(20);
    c.await_all(*daemon);
    before = c.messages;
    before.resize(c.produced);
    events_before = events();
  }
  void lose(const std::vector<int32_t>& partitions) {
    broker->kill();
    for (const int32_t partition : partitions) cut(partition);
    broker->restart();
  }
  // The daemon ends and names the command that helps. Returns the command.
  std::string advice() {
    EXPECT_EQ(daemon->await_exit(), 3) << daemon->said();
    EXPECT_THAT(daemon->said(), HasSubstr("the brokers have lost records that were read. Go back"));
    EXPECT_THAT(daemon->said(), Not(HasSubstr("created again")));
    EXPECT_EQ(events(), events_before);
    const std::string said = daemon->said();
    const size_t from = said.rfind("doppel offsets set ");
    const size_t to = said.find(" --yes", from);
    if (from == std::string::npos || to == std::string::npos) return "";
    return said.substr(from + 7, to - from - 7);
  }

  // Follows the advice, and checks that everything that is in the topic now is judged, and nothing is a copy
  // of itself.
  void go_back_and_judge(const std::string& command) {
    const Ran moved = c.setup.run(command + " --yes");
    ASSERT_EQ(moved.code, 0) << command << "\n" << moved.out << moved.err;
    daemon = c.start();
    const std::string second = c.setup.input() + "@2";
    std::vector<Message> now = read_all(c.setup.bootstrap(), c.setup.input());
    Offsets ends;
    for (const auto& [place, end] : ends_of(now, now.size())) ends[{second, place.second}] = end;
    LogFollower log(c.setup.bootstrap(), c.setup.options().kafka.index_log);
    ASSERT_TRUE(log.await(ends, std::chrono::seconds(60), [&] {
      return daemon->await_exit(Daemon::Seconds(0)).has_value();
    })) << daemon->said();
    Case::stop(*daemon);
    const std::string first = c.setup.input();
    const auto read = [&](const std::string& topic) {
      if (topic == first) return before;
      std::vector<Message> messages = topic == second ? now : read_all(c.setup.bootstrap(), topic);
      for (Message& m : messages) m.topic = topic;
      return messages;
    };
    const Verification result =
        verify_topics(read, c.setup.options(), *parse_hash_key(kHashKey), {first, second}, {second});
    EXPECT_TRUE(result.findings.empty()) << result.text() << "\n" << daemon->said();
    EXPECT_EQ(c.setup.compare_with_rebuilt(), "");
    // Each record that came since is judged, wherever the daemon went back to.
    std::map<std::pair<int32_t, int64_t>, std::string> known;
    for (const Message& m : before) known[{m.partition, m.offset}] = m.value.value_or("");
    const std::map<int32_t, int64_t> begins = first_of_second();
    for (const Message& m : now) {
      const auto at = known.find({m.partition, m.offset});
      const bool is_new = at == known.end() || at->second != m.value.value_or("");
      EXPECT_TRUE(!is_new || m.offset >= begins.at(m.partition)) << m.partition << "/" << m.offset;
    }
    for (const auto& [document, original_of] : copies()) EXPECT_NE(document, original_of);
  }
  // Where the second incarnation of each partition begins, as the log says.
  std::map<int32_t, int64_t> first_of_second() const {
    std::map<int32_t, int64_t> out;
    for (const Message& m : read_all(c.setup.bootstrap(), c.setup.options().kafka.index_log)) {
      const auto record = parse_log_record(*m.key, m.value ? std::string_view(*m.value) : std::string_view(),
                                           m.value.has_value());
      const auto* p = record.ok() ? std::get_if<LogProgress>(&*record) : nullptr;
      if (p != nullptr && p->incarnation == 2) out.try_emplace(p->partition, p->next);
    }
    return out;
  }
  size_t events() const { return read_all(c.setup.bootstrap(), c.setup.options().output.topic).size(); }
  // Topic, partition and offset of each copy, and of its original.
  std::vector<std::pair<std::string, std::string>> copies() const {
    std::vector<std::pair<std::string, std::string>> out;
    simdjson::dom::parser parser;
    const auto place = [](std::string id) {
      const size_t at = id.find('@');
      if (at != std::string::npos) id.erase(at, id.find('/') - at);
      return id;
    };
    for (const Message& m : read_all(c.setup.bootstrap(), c.setup.options().output.topic)) {
      std::string_view document, original;
      const simdjson::dom::element event = parser.parse(m.value.value());
      if (event["event_id"].get(document) == simdjson::SUCCESS &&
          event["cluster_id"].get(original) == simdjson::SUCCESS)
        out.emplace_back(place(std::string(document)), place(std::string(original)));
    }
    return out;
  }

  static std::unique_ptr<Broker> broker;
  Case c{{{"kafka.properties.topic.metadata.refresh.interval.ms", "200"}}, broker->bootstrap()};
  std::unique_ptr<Daemon> daemon;
  std::vector<Message> before;
  size_t events_before = 0;
};
std::unique_ptr<Broker> LostTail::broker;

TEST_F(LostTail, OfEachPartitionStopsTheNextStart) {
  read();
  Case::stop(*daemon);
  lose({0, 1, 2});
  c.produce_next(50);
  daemon = c.setup.serve();
  go_back_and_judge(advice());
}

TEST_F(LostTail, WhileTheDaemonRunsStopsIt) {
  read();
  lose({0, 1, 2});
  c.produce_next(50);
  go_back_and_judge(advice());
}

// The partition is longer than before when the daemon looks, and the others are the same.
TEST_F(LostTail, OfOnePartitionThatGrewAgainStops) {
  read();
  Case::stop(*daemon);
  lose({1});
  for (size_t i = c.produced; i < c.messages.size(); ++i) c.messages[i].partition = 1;
  c.produce_next(80);
  daemon = c.setup.serve();
  const std::string command = advice();
  EXPECT_THAT(command, HasSubstr("/1="));
  EXPECT_THAT(command, Not(HasSubstr("/0=")));
  go_back_and_judge(command);
}

TEST_F(LostTail, OfOnePartitionThatGrewAgainStopsTheDaemonThatRuns) {
  read();
  lose({1});
  for (size_t i = c.produced; i < c.messages.size(); ++i) c.messages[i].partition = 1;
  c.produce_next(80);
  go_back_and_judge(advice());
}

}  // namespace
}  // namespace doppel::testing
