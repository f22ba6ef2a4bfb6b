// Faults in the input of an index on many machines: the processes name them, and nothing is lost.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/checksums.h"
#include "kafka/broker.h"
#include "kafka/cluster_setup.h"
#include "kafka/workload.h"

namespace doppel::testing {
namespace {

using ::testing::HasSubstr;

class ClusterInput : public ::testing::Test {
 protected:
  // Signs this many more documents.
  void sign(size_t count) {
    const size_t end = std::min(messages_.size(), produced_ + count);
    produce(client_, messages_, produced_, end);
    const auto signer = setup_.signer();
    order_.read(end - produced_);
    produced_ = end;
    stop(*signer);
  }
  void start(const std::vector<std::string>& all_shards) {
    resolver_ = ClusterSetup::resolver(index_, "resolver");
    for (const std::string& shards : all_shards) add_matcher(shards);
  }
  Daemon& add_matcher(const std::string& shards) {
    matchers_.push_back(ClusterSetup::matcher(index_, shards, fmt::format("matcher-{}", matchers_.size())));
    return *matchers_.back();
  }
  void stop_all() {
    stop(*resolver_);
    for (const auto& matcher : matchers_) stop(*matcher);
    matchers_.clear();
  }
  static void stop(Daemon& daemon) {
    daemon.terminate();
    EXPECT_EQ(daemon.await_exit(), 0) << daemon.said();
  }
  ::testing::AssertionResult all_decided() {
    LogFollower follower(bootstrap_, index_.options().kafka.index_log);
    if (follower.await(setup_.end_of_order(), std::chrono::seconds(90),
                       [&] { return resolver_->await_exit(Daemon::Seconds(0)).has_value(); }))
      return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << resolver_->said();
  }
  void expect_same_as_alone() {
    const PublicationDifference difference = setup_.compare_with_alone(index_);
    EXPECT_TRUE(difference.none()) << difference.text();
  }

  const std::string bootstrap_ = Broker::shared().bootstrap();
  Client client_{bootstrap_};
  ClusterSetup setup_{bootstrap_, {{"tombstones", "key"}}};
  IndexSetup index_{bootstrap_, setup_.cluster(), 1};
  Reader order_{bootstrap_, setup_.order()};
  std::vector<Message> messages_ =
      make_workload({.documents = 600, .topics = {setup_.input()}, .partitions = 4});
  size_t produced_ = 0;
  std::unique_ptr<Daemon> resolver_;
  std::vector<std::unique_ptr<Daemon>> matchers_;
};

// Sets the version, and a right checksum.
std::string of_version(std::string record, char version) {
  record[sizeof(uint32_t)] = version;
  const uint32_t crc = crc32c(std::string_view(record).substr(sizeof(crc)));
  std::memcpy(record.data(), &crc, sizeof(crc));
  return record;
}

TEST_F(ClusterInput, RecordsThatCannotBeReadAreDeadLetters) {
  sign(100);
  const std::string good = *read_all(bootstrap_, setup_.order()).at(3).value;
  std::vector<Message> bad(4);
  bad[0].value = good.substr(0, good.size() / 2);
  bad[1].value = of_version(good, 9);
  bad[2].value = R"({"id":"a","text":"no signed record"})";  // bad[3]: null, which removes nothing: skipped
  client_.produce(setup_.order(), bad);
  // Signers with another configuration.
  write_file(index_.path("in.jsonl"), R"({"id":"b","text":"one two three four five six seven eight"})");
  const std::string command = fmt::format("sign --set kafka.brokers={} --to {} {}", bootstrap_,
                                          setup_.order(), index_.path("in.jsonl"));
  const Ran other_key = run_doppel(command, "DOPPEL_HASH_KEY=ff0102030405060708090a0b0c0d0e0f");
  ASSERT_EQ(other_key.code, 0) << other_key.err;
  const Ran other_scheme =
      run_doppel(command + " --set num_perm=64", fmt::format("DOPPEL_HASH_KEY={}", kHashKey));
  ASSERT_EQ(other_scheme.code, 0) << other_scheme.err;
  order_.read(bad.size() + 2);
  sign(100);

  start({"0-31/64", "32-63/64"});
  ASSERT_TRUE(all_decided());
  stop_all();
  expect_same_as_alone();
  std::string reasons;
  for (const Message& letter : read_all(bootstrap_, index_.options().output.dead_letters))
    reasons += letter.header("__connect.errors.exception.message") + "\n";
  for (const char* reason :
       {"no signed record, or a damaged one: wrong checksum", "a signed record of version 9", "hash key",
        "num_perm: the records were signed with 64, this run expects 128"})
    EXPECT_THAT(reasons, HasSubstr(reason));
  EXPECT_GT(setup_.alone().events.size(), 190U);
}

TEST_F(ClusterInput, ShardsThatNoMatcherHasAreNamed) {
  sign(200);
  start({"0-31/64"});
  EXPECT_TRUE(resolver_->await_line("missing=32-63/64 answered=0-31/64")) << resolver_->said();
  add_matcher("16-47/64");
  EXPECT_TRUE(resolver_->await_line("missing=48-63/64")) << resolver_->said();
  add_matcher("0-15/32");
  EXPECT_TRUE(resolver_->await_line("missing=\"16-31/32 or 48-63/64\"")) << resolver_->said();
  add_matcher("48-63/64");
  EXPECT_TRUE(resolver_->await_line("or shards of 64 that overlap")) << resolver_->said();
  add_matcher("32-47/64");
  ASSERT_TRUE(all_decided());
  stop_all();
  expect_same_as_alone();
}

TEST_F(ClusterInput, ADirectoryWithOtherShardsIsRefused) {
  sign(100);
  start({"0-31/64", "32-63/64"});
  ASSERT_TRUE(all_decided());
  stop_all();
  for (const char* other : {"0-15/32", "0-15/64"}) {
    const auto refused = ClusterSetup::matcher(index_, other, "matcher-0");
    EXPECT_EQ(refused->await_exit(), 2) << refused->said();
    EXPECT_THAT(refused->said(), HasSubstr("0-31/64"));
    EXPECT_THAT(refused->said(), HasSubstr(other));
    EXPECT_THAT(refused->said(), HasSubstr("shards"));
  }
  // Neither role accepts the other's directory.
  const auto matcher = ClusterSetup::matcher(index_, "0/1", "resolver");
  EXPECT_EQ(matcher->await_exit(), 2) << matcher->said();
  EXPECT_THAT(matcher->said(), HasSubstr("shards"));
  const auto resolver = ClusterSetup::resolver(index_, "matcher-0");
  EXPECT_EQ(resolver->await_exit(), 2) << resolver->said();
  EXPECT_THAT(resolver->said(), HasSubstr("shards"));
  start({"0-31/64", "32-63/64"});
  sign(100);
  ASSERT_TRUE(all_decided());
  stop_all();
  expect_same_as_alone();
}

TEST_F(ClusterInput, AnOrderOfTwoPartitionsIsNone) {
  const std::string two = unique_name("two");
  client_.create_topic(two, 2);
  index_.set({{"kafka.topics", "[" + two + "]"}});
  start({"0/1"});
  for (Daemon* daemon : {resolver_.get(), matchers_[0].get()}) {
    EXPECT_EQ(daemon->await_exit(), 2) << daemon->said();
    EXPECT_THAT(daemon->said(), HasSubstr(two + " (input) has 2 partitions"));
  }
}

TEST_F(ClusterInput, RetentionThatCutsTheOrderIsNamed) {
  sign(100);
  start({"0/1"});
  ASSERT_TRUE(all_decided());
  stop_all();
  sign(100);
  const int64_t end = setup_.end_of_order().begin()->second;
  client_.delete_records(setup_.order(), 0, end - 20);
  start({});
  Daemon& matcher = *matchers_.emplace_back(ClusterSetup::matcher(index_, "0/1", "matcher-0"));
  for (Daemon* daemon : {resolver_.get(), &matcher}) {
    EXPECT_EQ(daemon->await_exit(), 3) << daemon->said();
    EXPECT_THAT(daemon->said(), HasSubstr(fmt::format("{}/0 begins at offset {}, but it was read only up to",
                                                      setup_.order(), end - 20)));
    EXPECT_THAT(daemon->said(), HasSubstr("kafka.on_data_loss: continue"));
  }
  matchers_.clear();
  // A user who sets this continues without them, with the present directories.
  index_.set({{"kafka.on_data_loss", "continue"}});
  start({"0/1"});
  ASSERT_TRUE(all_decided());
  EXPECT_EQ(matchers_[0]->said().find("set aside"), std::string::npos) << matchers_[0]->said();
  stop_all();
  EXPECT_EQ(read_publication(bootstrap_, index_.options()).events.size() >= 100, true);
}

}  // namespace
}  // namespace doppel::testing
