// Index logs that earlier versions wrote: tests/data/upgrade/NAME/index-log holds the records of one, and
// index-log.checksum the checksum of its index. A version that changes the format adds a folder
// (tests/data/upgrade/make), and removes none.

#include <gtest/gtest.h>

#include <filesystem>

#include "kafka/case.h"
#include "kafka/cluster.h"
#include "kafka/librdkafka/connect.h"
#include "kafka/upgrade/fixture.h"

namespace doppel::testing {
namespace {

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

}  // namespace
}  // namespace doppel::testing
