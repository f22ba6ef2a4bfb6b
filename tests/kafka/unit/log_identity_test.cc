// Which index a log holds, and whether a configuration can continue it.
#include "kafka/log/identity.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>

#include "kafka/unit/simulated.h"
#include "temporary_directory.h"

namespace doppel::kafka_test {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

LogEpoch epoch(char id, bool complete = true) {
  LogEpoch out{.cluster = "simulated", .data_scheme = "d", .num_perm = 128, .mask_words = 1};
  out.epoch.fill(static_cast<uint8_t>(id));
  out.complete = complete;
  return out;
}

class IdentityInMemory : public ::testing::Test {
 protected:
  IdentityInMemory() { kafka.topic("log", 1); }
  void add(const std::function<LogPlace(std::string&)>& put) {
    std::string bytes;
    const LogPlace place = put(bytes);
    kafka.world.broker.append({"log", 0}, record_of(bytes, place));
  }
  void add(const LogEpoch& one) {
    add([&](std::string& out) { return put_log_epoch(out, one); });
  }
  void add_rule(const std::string& rule) {
    add([&](std::string& out) { return put_log_rule(out, {rule}); });
  }
  void add_removed(Seq seq) {
    add([&](std::string& out) { return put_log_removed(out, {.seq = seq}); });
  }
  absl::StatusOr<LogIdentity> find() {
    auto log = kafka::LogReader::open(kafka.process(), {"log", 0});
    const std::string cluster = "simulated", topic = "log";
    return find_identity(*log, log->bounds().value(), {cluster, topic}, dir.path());
  }
  Simulated kafka{1};
  const TemporaryDirectory dir;
};

TEST_F(IdentityInMemory, AnEmptyLogHoldsNone) {
  const auto found = find();
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_FALSE(found->epoch);
  EXPECT_FALSE(found->strange);
  EXPECT_EQ(found->offset, -1);
  EXPECT_EQ(found->records_read, 0u);
}

TEST_F(IdentityInMemory, IsKnownAfterFewRecords) {
  add([](std::string& out) { return put_log_owner(out, {"me"}); });
  add(epoch('a'));
  add_rule("r");
  for (Seq seq = 0; seq < 100; ++seq) add_removed(seq);
  const auto found = find();
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_TRUE(found->epoch);
  EXPECT_EQ(found->epoch->epoch, epoch('a').epoch);
  EXPECT_EQ(found->offset, 1);
  EXPECT_EQ(found->rule, "r");
  EXPECT_EQ(found->records_read, 3u);
  EXPECT_FALSE(found->strange);
}

TEST_F(IdentityInMemory, ARebuildIsReadToItsEnd) {
  add(epoch('a', false));
  add_rule("r");
  for (Seq seq = 0; seq < 100; ++seq) add_removed(seq);
  auto found = find();
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_FALSE(found->epoch->complete);
  EXPECT_EQ(found->records_read, 102u);
  add(epoch('a'));
  add_removed(100);
  found = find();
  EXPECT_TRUE(found->epoch->complete);
  EXPECT_EQ(found->offset, 102);
  EXPECT_EQ(found->records_read, 103u);
}

TEST_F(IdentityInMemory, RecordsOfOthersAreStrange) {
  kafka.world.broker.append({"log", 0}, {.value = "a document", .headers = {}});
  add(epoch('a'));
  auto found = find();
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_TRUE(found->strange);
  EXPECT_FALSE(found->epoch);
  EXPECT_EQ(found->records_read, 1u);
}

// The head of the log was deleted: originals come before the epoch, if there is one at all.
TEST_F(IdentityInMemory, ALogWithoutItsHeadIsStrange) {
  add_removed(7);
  EXPECT_TRUE(find()->strange);
  add(epoch('a'));
  add_rule("r");
  const auto found = find();
  EXPECT_FALSE(found->strange);  // a rebuilt log may begin so
  EXPECT_EQ(found->offset, 1);
}

TEST_F(IdentityInMemory, ADamagedRecordBehindTheEpochIsAnError) {
  add(epoch('a', false));
  kafka.world.broker.append({"log", 0}, {.value = "a document", .headers = {}});
  EXPECT_TRUE(absl::IsDataLoss(find().status())) << find().status();
}

struct Case {
  WantedLog wanted{
      .name = "log", .cluster = "simulated", .data_scheme = "d", .rule = "r", .rebuilt_from = {}};
  LogIdentity found{.epoch = epoch('a')};
  std::string said() const { return std::string(check_log(wanted, found).message()); }
};

TEST(CheckLog, SaysWhyALogCannotBeContinued) {
  EXPECT_EQ(Case().said(), "");
  Case none;
  none.found.epoch.reset();
  EXPECT_EQ(none.said(), "");
  none.wanted.read_only = true;
  EXPECT_EQ(none.said(), "the index log log holds no index yet");
  none.wanted.may_be_empty = true;
  EXPECT_EQ(none.said(), "");
  none.found.strange = true;
  EXPECT_THAT(none.said(), HasSubstr("the topic log holds records but no index"));
  none.wanted.begins = 1;
  EXPECT_THAT(none.said(),
              HasSubstr("the index log log begins at offset 1: the records before it were deleted"));

  Case other;
  other.wanted.cluster = "another";
  EXPECT_THAT(other.said(), HasSubstr("was written in the cluster simulated, this one is another"));

  Case rebuild;
  rebuild.wanted.rebuilt_from = "pages";
  EXPECT_THAT(rebuild.said(), HasSubstr("holds a finished index; a rebuild needs a log of its own"));
  rebuild.found.epoch->complete = false;
  EXPECT_EQ(rebuild.said(), "");
  rebuild.wanted.rebuilt_from.reset();
  EXPECT_THAT(rebuild.said(), HasSubstr("is an unfinished rebuild; run the same doppel rebuild again"));
  rebuild.wanted.read_only = true;
  EXPECT_EQ(rebuild.said(), "");
}

TEST(NewEpoch, IsTheSameForTheSameRebuildOnly) {
  const HashKey key{.low = 1, .high = 2};
  WantedLog wanted{.name = "log", .cluster = "c", .data_scheme = "d", .rule = "r", .rebuilt_from = {}};
  wanted.num_perm = 64;
  wanted.mask_words = 2;
  const LogEpoch first = new_epoch(wanted, key).value(), second = new_epoch(wanted, key).value();
  EXPECT_NE(first.epoch, second.epoch);
  EXPECT_TRUE(first.complete);
  EXPECT_EQ(first.num_perm, 64u);
  EXPECT_EQ(first.mask_words, 2u);
  EXPECT_EQ(first.rebuilt_from, "");
  EXPECT_EQ(first.epoch[6] >> 4, 4);
  EXPECT_EQ(first.epoch[8] >> 6, 2);
  std::set<Epoch> all;
  for (const char* inputs : {"a", "b"}) {
    wanted.rebuilt_from = inputs;
    const LogEpoch rebuilt = new_epoch(wanted, key).value();
    EXPECT_EQ(rebuilt.epoch, new_epoch(wanted, key)->epoch);
    EXPECT_NE(rebuilt.epoch, new_epoch(wanted, {.low = 1, .high = 3})->epoch);
    EXPECT_FALSE(rebuilt.complete);
    EXPECT_EQ(rebuilt.rebuilt_from, inputs);
    EXPECT_EQ(rebuilt.epoch[6] >> 4, 8);
    EXPECT_EQ(rebuilt.epoch[8] >> 6, 2);
    all.insert(rebuilt.epoch);
  }
  EXPECT_EQ(all.size(), 2u);
}

TEST(OwnerName, IsUniqueAndEndsWithTheMember) {
  EXPECT_NE(make_owner_name(), make_owner_name());
  EXPECT_THAT(make_owner_name(), MatchesRegex("[^/]+/[0-9]+/[0-9]+/[0-9a-f]+"));
  EXPECT_THAT(make_owner_name("me"), MatchesRegex("[^/]+/[0-9]+/[0-9]+/[0-9a-f]+/me"));
}

}  // namespace
}  // namespace doppel::kafka_test
