// Index logs that earlier versions wrote: tests/data/upgrade/NAME/index-log holds the records of one, and
// index-log.checksum the checksum of its index. A version that changes the format adds a folder
// (tests/data/upgrade/make), and removes none. serve.tar.gz holds topics and state directory of a daemon.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

#include "kafka/case.h"
#include "kafka/cluster.h"
#include "kafka/librdkafka/connect.h"
#include "kafka/upgrade/fixture.h"
#include "kafka/upgrade/served.h"

namespace doppel::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

const fs::path kFixtures = fs::path(DOPPEL_SOURCE_DIR) / "tests/data/upgrade";

// The log belongs to the cluster that it is on: changes only that.
void move_to(const std::string& cluster, std::vector<Message>& log) {
  for (Message& m : log) {
    absl::StatusOr<LogRecord> record = parse_log_record(
        *m.key, m.value ? std::string_view(*m.value) : std::string_view(), m.value.has_value());
    ASSERT_TRUE(record.ok()) << record.status();
    auto* epoch = std::get_if<LogEpoch>(&*record);
    if (epoch == nullptr) continue;
    epoch->cluster = cluster;
    std::string bytes;
    const LogPlace place = put_log_epoch(bytes, *epoch);
    m.value = bytes.substr(place.value);
  }
}

TEST(Upgrade, IndexLogsOfEarlierVersionsAreReadAndGoOn) {
  int count = 0;
  for (const auto& folder : fs::directory_iterator(kFixtures)) {
    if (!folder.is_directory()) continue;
    SCOPED_TRACE(folder.path().string());
    ++count;
    Case c(IndexSetup::Settings{{"tombstones", "key"}, {"expire_after", "3650d"}});
    const std::string& log = c.setup.options().kafka.index_log;
    std::vector<Message> records = decode_log(read_file(folder.path() / "index-log"));
    const absl::StatusOr<std::string> cluster =
        kafka::connect({.brokers = Broker::shared().bootstrap()})->id();
    ASSERT_TRUE(cluster.ok()) << cluster.status();
    move_to(*cluster, records);
    c.client.create_topic(log, 1, {{"cleanup.policy", "compact"}, {"max.message.bytes", "80000000"}});
    c.client.produce(log, records);
    const Ran ran = c.setup.run("rebuild --from log");
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(index_checksum(c.setup.state()) + "\n", read_file(folder.path() / "index-log.checksum"));
    // A daemon goes on with it, and its log is whole with the records of both versions.
    c.produce_next(120);
    const auto daemon = c.start();
    c.await_all(*daemon);
    Case::stop(*daemon);
    EXPECT_EQ(c.setup.compare_with_rebuilt(), "");
  }
  EXPECT_GT(count, 0);
}

std::string place(const Message& m) { return fmt::format("documents/{}/{}", m.partition, m.offset); }

// Every value of `originals`, which maps it to the place of the original that lives, comes again: each is a
// copy of that original. What has no original becomes one.
void send_again(Served& served, const std::vector<Message>& documents,
                std::map<std::string, std::string>& originals) {
  SCOPED_TRACE(fmt::format("{} originals", originals.size()));
  const size_t events_before = read_all(served.bootstrap(), Served::kEvents).size();
  std::vector<Message> again = documents;
  for (Message& m : again) m.key = "again";
  served.client().produce(Served::kInput, again);
  served.judge_all();
  std::map<std::string, std::string> expected, got;  // place of the copy -> of its original
  for (const Message& m : again) {
    const auto [at, is_new] = originals.try_emplace(*m.value, place(m));
    if (!is_new) expected[place(m)] = at->second;
  }
  const std::vector<Message> events = read_all(served.bootstrap(), Served::kEvents);
  for (const Message& m : events) {
    const std::string& event = *m.value;
    const auto member = [&](const std::string& name) {
      const size_t begin = event.find("\"" + name + "\":\"") + name.size() + 4;
      return event.substr(begin, event.find('"', begin) - begin);
    };
    if (expected.contains(member("event_id"))) got[member("event_id")] = member("cluster_id");
  }
  EXPECT_EQ(events.size() - events_before, expected.size());
  EXPECT_EQ(got, expected);
}

// An earlier program refuses what this version wrote, and changes nothing, also without a state directory.
void expect_refused_by(const std::string& program, const Served& served, const std::string& other_state) {
  const auto daemon = served.serve(program);
  EXPECT_EQ(daemon->await_exit(), 3) << daemon->said();
  EXPECT_THAT(daemon->said(),
              AnyOf(HasSubstr("made by a newer version of doppel"), HasSubstr("written in version")));
  const auto reader = served.serve(program, other_state);
  EXPECT_EQ(reader->await_exit(), 3) << reader->said();
  EXPECT_THAT(reader->said(), HasSubstr("that this version does not know"));
}

// PREVIOUS_PROGRAM names the program of an earlier version (tests/kafka/upgrade/back builds it). Without it,
// the way back is left out.
TEST(Upgrade, ADaemonGoesForwardAndItsIndexNotBack) {
  const char* const previous = std::getenv("PREVIOUS_PROGRAM");  // NOLINT(concurrency-mt-unsafe)
  int count = 0;
  for (const auto& folder : fs::directory_iterator(kFixtures)) {
    if (!fs::exists(folder.path() / "serve.tar.gz")) continue;
    SCOPED_TRACE(folder.path().string());
    ++count;
    TempDir dir;
    const std::string unpack =
        fmt::format("tar -C '{}' -xzf '{}/serve.tar.gz'", dir.path().string(), folder.path().string());
    ASSERT_EQ(std::system(unpack.c_str()), 0);  // NOLINT(cert-env33-c)
    Served served(dir.path().string(), read_file(dir / "cluster"));
    served.put_back();
    std::vector<Message> documents;
    std::map<std::string, std::string> originals;
    std::set<std::string> removed;  // keys
    const std::vector<Message> input = decode_topic(read_file(dir / "input"));
    for (const Message& m : input)
      if (!m.value) removed.insert(*m.key);
    for (const Message& m : input) {
      if (!m.value) continue;
      documents.push_back(m);
      if (!m.key || !removed.contains(*m.key)) originals[*m.value] = place(m);
    }
    EXPECT_LT(originals.size(), documents.size());
    send_again(served, documents, originals);
    if (previous != nullptr) expect_refused_by(previous, served, dir / "other");
    send_again(served, documents, originals);
    EXPECT_EQ(originals.size(), documents.size());
    const Ran ran = run_doppel(
        fmt::format("rebuild --from log --config '{}' --set kafka.brokers={} --set state.directory='{}'",
                    dir / "doppel.yaml", served.bootstrap(), dir / "rebuilt"),
        fmt::format("DOPPEL_HASH_KEY={}", kHashKey));
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(index_checksum(dir / "rebuilt"), index_checksum(served.state()));
  }
  EXPECT_GT(count, 0);
}

}  // namespace
}  // namespace doppel::testing
