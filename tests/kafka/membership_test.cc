// Members of a group that come and go.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "kafka/broker.h"
#include "kafka/cluster.h"
#include "kafka/index_setup.h"
#include "kafka/librdkafka/connect.h"

namespace doppel::testing {
namespace {

// Version 2.0 of the library ends the process if a member leaves before its first assignment.
TEST(Membership, AMemberMayGoAtAnyMoment) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  const IndexSetup setup(Broker::shared().bootstrap(), {}, 4);
  const std::unique_ptr<kafka::Cluster> cluster = kafka::connect({.brokers = setup.bootstrap()});
  const auto join = [&] {
    return cluster->join({.group = setup.options().kafka.group + "-members", .topics = setup.inputs()});
  };
  {  // A broker takes seconds to create its first group.
    auto first = join();
    ASSERT_TRUE(first.ok()) << first.status();
    while ((*first)->ours(100)->empty()) {
    }
  }
  const auto come_and_go = [&](unsigned seed_of_thread) {
    std::mt19937 moment(seed_of_thread);
    const auto wait = [&](unsigned ms) {  // for any moment, not for one that could be awaited
      std::this_thread::sleep_for(std::chrono::milliseconds(moment() % ms));
    };
    for (int i = 0; i < 15; ++i) {
      auto member = join();
      ASSERT_TRUE(member.ok()) << member.status();
      wait(20);
      ASSERT_TRUE((*member)->ours(0).ok());
      wait(100);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back(come_and_go, random());
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace doppel::testing
