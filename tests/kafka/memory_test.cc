// The setting `memory` on Kafka: old originals in segments, of which many are made, merged and dropped.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "commands/segments_of.h"
#include "kafka/case.h"
#include "kafka/published.h"

namespace doppel::testing {
namespace {

const IndexSetup::Settings kFew{{"memory", "20000"},  // about forty originals in memory
                                {"tombstones", "key"},
                                {"on_update", "replace"},
                                {"kafka.batch_documents", "20"},
                                {"state.checkpoint_documents", "50"}};

struct SegmentOnDisk {
  uint64_t first = 0, end = 0;
  fs::file_time_type written;
};

std::vector<SegmentOnDisk> read_segments(const std::string& state) {
  std::vector<SegmentOnDisk> out;
  for (const fs::path& path : segments_of(state)) {
    const std::string name = path.filename();
    const size_t dash = name.find('-');
    out.push_back({.first = std::stoull(name),
                   .end = std::stoull(name.substr(dash + 1)),
                   .written = fs::last_write_time(path)});
  }
  return out;
}

TEST(Memory, ADaemonThatIsKilledPublishesWhatMustBeSaid) {
  Case c(kFew, Broker::shared().bootstrap(), 900);
  for (int life = 0; life < 3; ++life) {
    const auto daemon = c.start();
    c.produce_next(250);
    c.await_all(*daemon);
    daemon->kill();
    daemon->await_exit();
    EXPECT_GT(segments_of(c.setup.state()).size(), 1U);
  }
  c.finish(*c.start());
}

// Segments are opened, not made again. A daemon that stops may have ended a merge: then both the merged
// segment and its parts are there, and the next start removes the parts.
TEST(Memory, AStartKeepsTheSegments) {
  Case c(kFew);
  const auto first = c.start();
  c.produce_next(400);
  c.await_all(*first);
  Case::stop(*first);
  const std::vector<SegmentOnDisk> before = read_segments(c.setup.state());
  const auto is_part = [&](const SegmentOnDisk& one) {
    return std::any_of(before.begin(), before.end(), [&](const SegmentOnDisk& other) {
      return other.first <= one.first && one.end <= other.end &&
             other.end - other.first > one.end - one.first;
    });
  };
  const auto second = c.start();
  const std::vector<SegmentOnDisk> after = read_segments(c.setup.state());
  size_t kept = 0;
  for (const SegmentOnDisk& one : before) {
    if (is_part(one)) continue;
    ++kept;
    const auto same = std::find_if(after.begin(), after.end(), [&](const SegmentOnDisk& other) {
      return other.first == one.first && other.end == one.end;
    });
    ASSERT_NE(same, after.end()) << one.first << " to " << one.end;
    EXPECT_EQ(same->written, one.written) << one.first << " to " << one.end;
  }
  EXPECT_GT(kept, 1U);
  c.finish(*second);
}

// While the log is read, the oldest originals move to segments, so that memory stays limited.
TEST(Memory, ALostDirectoryIsMadeFromTheLog) {
  Case c(kFew);
  const auto first = c.start();
  c.produce_next(500);
  c.await_all(*first);
  Case::stop(*first);
  fs::remove_all(c.setup.state());
  const auto second = c.start();
  EXPECT_GT(segments_of(c.setup.state()).size(), 1U);
  c.finish(*second);
}

TEST(Memory, AStandbyTakesOverWithSegmentsOfItsOwn) {
  IndexSetup::Settings settings = kFew;
  settings["kafka.takeover"] = "standby";
  settings["kafka.properties.session.timeout.ms"] = "6000";
  settings["kafka.properties.transaction.timeout.ms"] = "2000";
  Case c(settings);
  const auto owner = c.start();
  const std::string other = c.setup.path("other");
  const auto standby = c.setup.serve({}, other);
  ASSERT_TRUE(standby->await_line("standing by")) << standby->said();
  c.produce_next(400);
  c.await_all(*owner);
  owner->kill();
  ASSERT_TRUE(standby->await_line("ready")) << standby->said();
  EXPECT_GT(segments_of(other).size(), 1U);
  c.setup.set({{"state.directory", other}});
  c.finish(*standby);
}

TEST(Memory, ADamagedPageIsNamedAndItsSegmentMadeAgain) {
  Case c(kFew);
  auto daemon = c.start();
  c.produce_next(300);
  c.await_all(*daemon);
  Case::stop(*daemon);
  for (const fs::path& segment : segments_of(c.setup.state())) {
    std::fstream file(segment, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(2 * 4096 + 1000);  // a page of rows
    file.write("damaged", 7);
  }
  daemon = c.start();
  c.produce_next(300);
  EXPECT_EQ(daemon->await_exit(), 3) << daemon->said();
  EXPECT_NE(daemon->said().find("the page at offset 8192 has a wrong checksum"), std::string::npos)
      << daemon->said();
  // Each start finds one of the others, until all are made again.
  for (int i = 0; i < 100; ++i) {
    daemon = c.setup.serve();
    if (c.setup.await_all(*daemon)) break;
    EXPECT_EQ(daemon->await_exit(), 3) << daemon->said();
  }
  c.finish(*daemon);
}

// Also the originals that documents name, which depend on all that is listed in a band.
TEST(Memory, ThePublicationIsThatOfAnIndexInMemory) {
  IndexSetup::Settings settings{{"output.verdicts", "all"}, {"tombstones", "key"},
                                {"expire_after", "1d"},     {"max_listed", "3"},
                                {"threads", "2"},           {"kafka.batch_documents", "50"}};
  IndexSetup all(Broker::shared().bootstrap(), settings, 1);
  settings["kafka.topics"] = "[" + all.input() + "]";
  settings["memory"] = "20000";
  settings["kafka.batch_documents"] = "30";
  IndexSetup few(Broker::shared().bootstrap(), settings, 1);
  Client client(all.bootstrap());
  std::vector<Message> messages =
      make_workload({.documents = 4'000, .topics = {all.input()}, .partitions = 1, .copies = 0.4});
  produce(client, messages, 0, messages.size());
  const Offsets ends = ends_of(messages, messages.size());
  for (const IndexSetup* setup : {&all, &few}) {
    const auto daemon = setup->serve();
    LogFollower follower(setup->bootstrap(), setup->options().kafka.index_log);
    ASSERT_TRUE(follower.await(ends, std::chrono::seconds(120))) << daemon->said();
    Case::stop(*daemon);
  }
  EXPECT_GT(segments_of(few.state()).size(), 1U);
  const Publication expected = read_publication(all.bootstrap(), all.options());
  EXPECT_GT(expected.events.size(), messages.size() / 2);
  const PublicationDifference difference =
      compare(read_publication(few.bootstrap(), few.options()), expected);
  EXPECT_TRUE(difference.none()) << difference.text();
}

// From the documents, then from the log, each killed on the way and continued.
TEST(Memory, ARebuildIsThatOfAnIndexInMemory) {
  IndexSetup::Settings settings{{"tombstones", "key"}, {"kafka.batch_documents", "40"}};
  IndexSetup all(Broker::shared().bootstrap(), settings);
  settings["kafka.topics"] = "[" + all.input() + "]";
  settings["memory"] = "20000";
  const IndexSetup few(Broker::shared().bootstrap(), settings);
  Client client(all.bootstrap());
  std::vector<Message> messages = make_workload({.documents = 2'000, .topics = all.inputs()});
  produce(client, messages, 0, messages.size());
  const Ran expected = all.run("rebuild --from documents");
  ASSERT_EQ(expected.code, 0) << expected.err;
  const StateContent content = all.read_directory(all.state());
  for (const std::string from : {"documents", "log"}) {
    fs::remove_all(few.state());
    const Ran killed =
        run_doppel("rebuild --from " + from + " --config " + few.config_file(),
                   fmt::format("DOPPEL_HASH_KEY={} DOPPEL_KILL_AT=segment_renamed:8", kHashKey));
    EXPECT_EQ(killed.code, 137) << killed.err;
    EXPECT_GT(segments_of(few.state()).size(), 1U) << from;
    const Ran ran = few.run("rebuild --from " + from);
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_GT(segments_of(few.state()).size(), 1U) << from;
    EXPECT_EQ(difference(content, few.read_directory(few.state())), "") << from;
  }
}

}  // namespace
}  // namespace doppel::testing
