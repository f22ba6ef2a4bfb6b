#pragma once
// An index that `serve` has on a broker of its own, with fixed names, so that topics and state directory of
// an earlier version can be put back as they were: the same cluster, and each record at its offset.

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "commands/run_doppel.h"
#include "kafka/broker.h"
#include "kafka/client.h"
#include "kafka/daemon.h"
#include "kafka/index_setup.h"
#include "kafka/transactions.h"
#include "kafka/truth.h"
#include "kafka/upgrade/fixture.h"

namespace doppel::testing {

class Served {
 public:
  static constexpr const char *kInput = "documents", *kLog = "documents-index", *kEvents = "duplicates";
  static constexpr int kPartitions = 3;

  // `folder` holds or gets doppel.yaml and state/.
  Served(const std::string& folder, const std::string& cluster)
      : folder_(folder),
        broker_(Broker::own_with_id(cluster)),
        client_(std::make_unique<Client>(broker_->bootstrap())) {
    client_->create_topic(kInput, kPartitions);
  }

  std::string bootstrap() const { return broker_->bootstrap(); }
  std::string state() const { return folder_ + "/state"; }
  Client& client() { return *client_; }

  // The topics as they are, and a broker without them gets them again.
  void keep() const {
    write_file(folder_ + "/input", encode_topic(read_all(bootstrap(), kInput)));
    write_file(folder_ + "/index-log", encode_topic(read_all(bootstrap(), kLog)));
  }
  void put_back() {
    for (const char* output : {kEvents, "dead-letters"}) client_->create_topic(output);
    std::vector<Message> input = decode_topic(read_file(folder_ + "/input"));
    std::vector<Message> before = input;
    client_->produce(kInput, before);
    for (size_t i = 0; i < input.size(); ++i)
      if (before[i].offset != input[i].offset) throw KafkaError("the input has gaps");
    client_->create_topic(kLog, 1,
                          {{"cleanup.policy", "compact"},
                           {"max.message.bytes", "80000000"},
                           {"delete.retention.ms", "604800000"}});
    Transactions transactions(bootstrap(), "the-log-of-an-earlier-version");
    int64_t end = 0;
    transactions.begin();
    const auto commit = [&] {
      if (const std::string failed = transactions.commit(); !failed.empty()) throw KafkaError(failed);
      ++end;  // the marker's
    };
    for (const Message& m : decode_topic(read_file(folder_ + "/index-log"))) {
      if (m.offset == end + 1) {
        commit();
        transactions.begin();
      }
      if (m.offset != end) throw KafkaError(fmt::format("the log has a gap before {}", m.offset));
      transactions.produce(kLog, m);
      ++end;
    }
    commit();
  }

  // `program`: an earlier one; `state`: another directory.
  std::unique_ptr<Daemon> serve(const std::string& program = "", const std::string& state = "") const {
    Daemon::Environment environment{{"DOPPEL_HASH_KEY", kHashKey}};
    if (!program.empty()) environment["TESTED_PROGRAM"] = program;
    return std::make_unique<Daemon>(
        std::vector<std::string>{"serve", "--config", folder_ + "/doppel.yaml", "--set",
                                 "kafka.brokers=" + bootstrap(), "--set",
                                 "state.directory=" + (state.empty() ? this->state() : state)},
        environment);
  }
  // Everything that is in the input now is judged by a daemon, which ends then.
  void judge_all() const {
    const auto daemon = serve();
    ASSERT_TRUE(daemon->await_line("ready")) << daemon->said();
    const std::vector<Message> input = read_all(bootstrap(), kInput);
    LogFollower follower(bootstrap(), kLog);
    ASSERT_TRUE(follower.await(ends_of(input, input.size()), std::chrono::seconds(90), [&] {
      return daemon->await_exit(Daemon::Seconds(0)).has_value();
    })) << daemon->said();
    daemon->terminate();
    EXPECT_EQ(daemon->await_exit(), 0) << daemon->said();
  }

 private:
  std::string folder_;
  std::unique_ptr<Broker> broker_;
  std::unique_ptr<Client> client_;
};

}  // namespace doppel::testing
