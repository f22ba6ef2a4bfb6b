// Any number of signers, matchers and resolvers publish of many documents exactly what one process publishes
// that reads the same order. One signer, then two, then three sign the order once; clusters of several shapes
// decide it.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "commands/commands.h"
#include "commands/segments_of.h"
#include "kafka/broker.h"
#include "kafka/cluster_setup.h"
#include "kafka/workload.h"

namespace doppel::testing {
namespace {

constexpr int kPartitions = 4, kShards = 64, kParts = 12;

// Prints how long each part took.
class Stopwatch {
 public:
  void say(const std::string& what) {
    const auto now = std::chrono::steady_clock::now();
    fmt::print("{}: {:.1f} s\n", what, std::chrono::duration<double>(now - begin_).count());
    begin_ = now;
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

std::string shards_of(int matcher, int matchers) {
  return fmt::format("{}-{}/{}", kShards * matcher / matchers, kShards * (matcher + 1) / matchers - 1,
                     kShards);
}

class Equality {
 public:
  explicit Equality(const IndexSetup::Settings& rule) : setup_(bootstrap_, rule, kPartitions) {}

  void sign(size_t documents) {
    Client client(bootstrap_);
    std::vector<Message> messages = make_workload({.documents = documents,
                                                   .topics = {setup_.input()},
                                                   .partitions = kPartitions,
                                                   .mean_words = 40,
                                                   .copies = 0.3});
    Reader order(bootstrap_, setup_.order());
    std::vector<std::unique_ptr<Daemon>> signers;
    for (size_t part = 0; part < kParts; ++part) {
      while (signers.size() <= 3 * part / kParts) {
        signers.push_back(setup_.signer());
        ASSERT_TRUE(signers.back()->await_line("signing ")) << signers.back()->said();
      }
      const size_t begin = documents * part / kParts, end = documents * (part + 1) / kParts;
      produce(client, messages, begin, end);
      end_ = {{{setup_.order(), 0}, order.read(end - begin, std::chrono::seconds(120)).back().offset + 1}};
    }
    for (const auto& signer : signers) stop(*signer);
    watch_.say(fmt::format("{} documents, signed", documents));
    expected_ = setup_.decide_alone();
    watch_.say("one process");
  }

  void expect_same(int matchers, int resolvers, const std::string& memory = "0") {
    IndexSetup index(bootstrap_, setup_.cluster({{"memory", memory}}), 1);
    std::vector<std::unique_ptr<Daemon>> daemons;
    for (int i = 0; i < resolvers; ++i)
      daemons.push_back(ClusterSetup::resolver(index, fmt::format("resolver-{}", i)));
    for (int i = 0; i < matchers; ++i)
      daemons.push_back(ClusterSetup::matcher(index, shards_of(i, matchers), fmt::format("matcher-{}", i)));
    LogFollower follower(bootstrap_, index.options().kafka.index_log);
    const std::string shape =
        fmt::format("{} matchers, {} resolvers, memory {}", matchers, resolvers, memory);
    EXPECT_TRUE(follower.await(end_, std::chrono::seconds(180))) << shape << daemons[0]->said();
    for (const auto& daemon : daemons) stop(*daemon, resolvers > 1);
    if (memory != "0") {
      EXPECT_GT(segments_of(index.path("matcher-0")).size(), 1U);
    }
    const PublicationDifference difference =
        compare(read_publication(bootstrap_, index.options()), expected_);
    EXPECT_TRUE(difference.none()) << shape << ": " << difference.text();
    watch_.say(shape);
  }

  const Publication& expected() const { return expected_; }

 private:
  // If two resolvers begin at once, the group may first choose one, and soon after the other.
  static void stop(Daemon& daemon, bool may_be_replaced = false) {
    daemon.terminate();
    const std::optional<int> code = daemon.await_exit();
    EXPECT_TRUE(code == 0 || (may_be_replaced && code == kExitReplaced))
        << code.value_or(-1) << daemon.said();
  }

  const std::string bootstrap_ = Broker::shared().bootstrap();
  ClusterSetup setup_;
  Stopwatch watch_;
  Offsets end_;
  Publication expected_;
};

TEST(ClusterEqualityLong, OfManyDocuments) {
  constexpr size_t kDocuments = 50'000;
  // Documents have timestamps a minute apart.
  Equality equality({{"tombstones", "key"},
                     {"on_update", "replace"},
                     {"expire_after", "3d"},
                     {"kafka.batch_documents", "2000"},
                     {"cluster.ahead", "10000"}});
  equality.sign(kDocuments);
  for (const auto& [matchers, resolvers] : {std::pair(1, 1), std::pair(2, 2), std::pair(4, 2)})
    equality.expect_same(matchers, resolvers);
  equality.expect_same(2, 1, "100kB");  // most of 4,000 originals are in segments
  EXPECT_GT(equality.expected().events.size(), kDocuments);
  EXPECT_GT(equality.expected().dead_letters.size(), kDocuments / 100);
}

// Nearly every death makes room in a full band, so the resolver asks matchers again: fewer documents.
TEST(ClusterEqualityLong, WhereBandsAreFull) {
  Equality equality({{"tombstones", "key"},
                     {"on_update", "replace"},
                     {"expire_after", "3d"},
                     {"max_listed", "2"},
                     {"kafka.batch_documents", "1000"},
                     {"cluster.ahead", "5000"}});
  equality.sign(6'000);
  for (const auto& [matchers, resolvers] : {std::pair(1, 1), std::pair(2, 2), std::pair(4, 2)})
    equality.expect_same(matchers, resolvers);
  equality.expect_same(3, 1, "100kB");
}

// Prints are counted over all shards, and owners compare their own originals.
TEST(ClusterEqualityLong, WithRelations) {
  Equality equality({{"relations", "near,contained,contains,shares"},
                     {"passage_words", "30"},
                     {"tombstones", "key"},
                     {"on_update", "replace"},
                     {"expire_after", "3d"},
                     {"kafka.batch_documents", "1000"},
                     {"cluster.ahead", "5000"}});
  equality.sign(10'000);
  const auto& events = equality.expected().events;
  EXPECT_GT(std::count_if(events.begin(), events.end(),
                          [](const Published& event) {
                            return event.text.find("\"relations\":[") != std::string::npos;
                          }),
            100);
  for (const auto& [matchers, resolvers] : {std::pair(1, 1), std::pair(2, 2), std::pair(4, 2)})
    equality.expect_same(matchers, resolvers);
}

}  // namespace
}  // namespace doppel::testing
