// One index on many machines: a resolver, which decides by the answers of matchers, decides like one process.
// `scripts/crash --cluster` breaks the processes of such an index (kafka/crash/cluster_faults.cc).

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "kafka/broker.h"
#include "kafka/cluster_setup.h"
#include "kafka/workload.h"

namespace doppel::testing {
namespace {

const IndexSetup::Settings kRemovals{{"output.best", "longest"},
                                     {"tombstones", "key"},
                                     {"on_update", "replace"},
                                     {"expire_after", "6h"},
                                     {"max_listed", "2"}};

void stop(Daemon& daemon) {
  daemon.terminate();
  EXPECT_EQ(daemon.await_exit(), 0) << daemon.said();
}

void expect_same_as_alone(ClusterSetup& setup, const IndexSetup& index) {
  const PublicationDifference difference = setup.compare_with_alone(index);
  EXPECT_TRUE(difference.none()) << difference.text();
  EXPECT_GT(setup.alone().events.size(), 50U);
}

// A resolver and matchers of one index, and their publication.
class Clusters : public ::testing::Test {
 protected:
  void produce_until(size_t end) {
    produce(client_, messages_, produced_, end);
    produced_ = end;
  }
  // Waits until everything that was produced is signed and decided.
  ::testing::AssertionResult await_all(const IndexSetup& index, Daemon& resolver) {
    Reader(bootstrap_, setup_.order()).read(produced_);
    LogFollower follower(bootstrap_, index.options().kafka.index_log);
    if (follower.await(setup_.end_of_order(), std::chrono::seconds(90),
                       [&] { return resolver.await_exit(Daemon::Seconds(0)).has_value(); }))
      return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << resolver.said();
  }

  const std::string bootstrap_ = Broker::shared().bootstrap();
  Client client_{bootstrap_};
  ClusterSetup setup_{bootstrap_, kRemovals};
  std::vector<Message> messages_ =
      make_workload({.documents = 2000, .topics = {setup_.input()}, .partitions = 4});
  size_t produced_ = 0;
};

TEST_F(Clusters, OneResolverAndTwoMatchersSayWhatOneProcessSays) {
  IndexSetup index(bootstrap_, setup_.cluster(), 1);
  const auto signer = setup_.signer();
  produce_until(1000);
  const auto resolver = ClusterSetup::resolver(index, "resolver");
  ASSERT_TRUE(resolver->await_line("ready")) << resolver->said();
  const auto low = ClusterSetup::matcher(index, "0-31/64", "low");
  const auto high = ClusterSetup::matcher(index, "32-63/64", "high");
  produce_until(2000);
  ASSERT_TRUE(await_all(index, *resolver)) << low->said() << high->said();
  for (Daemon* daemon : {resolver.get(), low.get(), high.get(), signer.get()}) stop(*daemon);
  expect_same_as_alone(setup_, index);
}

}  // namespace
}  // namespace doppel::testing
