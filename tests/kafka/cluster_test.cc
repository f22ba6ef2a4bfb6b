// One index on many machines: what a resolver decides by the answers of matchers is what one process decides.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <random>

#include "kafka/broker.h"
#include "kafka/index_setup.h"
#include "kafka/workload.h"

namespace doppel::testing {
namespace {

constexpr const char* kHashKey = "000102030405060708090a0b0c0d0e0f";

IndexSetup::Settings with(IndexSetup::Settings settings, const IndexSetup::Settings& more) {
  for (const auto& [key, value] : more) settings[key] = value;
  return settings;
}

// Events without what every index has of its own, in the order of the topic's partitions.
std::vector<std::string> said(const IndexSetup& index, const std::string& topic) {
  std::vector<std::string> out;
  for (const Message& m : read_all(index.bootstrap(), topic)) {
    std::string value = m.value.value_or("(null)");
    if (const size_t epoch = value.rfind(",\"epoch\":"); epoch != std::string::npos) value.resize(epoch);
    out.push_back(fmt::format("{} {}", m.key.value_or("(none)"), value));
  }
  std::sort(out.begin(), out.end());
  return out;
}

const IndexSetup::Settings kRemovals{
    {"tombstones", "key"}, {"on_update", "replace"}, {"expire_after", "6h"}, {"max_listed", "2"}};

// Documents that were signed into one topic, and what one process says of them.
class Clusters : public ::testing::Test {
 protected:
  void sign(size_t documents, const IndexSetup::Settings& rule) {
    rule_ = with(rule,
                 {{"input.format", "signed"}, {"output.verdicts", "all"}, {"kafka.batch_documents", "100"}});
    alone_ = std::make_unique<IndexSetup>(bootstrap_, rule_, 1);
    messages_ = make_workload({.documents = documents, .topics = {texts_.input()}, .partitions = 4});
    signer_ = std::make_unique<Daemon>(
        std::vector<std::string>{"sign", "--config", texts_.config_file(), "--to", order()},
        Daemon::Environment{{"DOPPEL_HASH_KEY", kHashKey}});
  }
  const std::string& order() const { return alone_->input(); }
  void come(size_t until) {
    produce(client_, messages_, produced_, until);
    produced_ = until;
  }

  // Another index of the same order.
  IndexSetup::Settings cluster() const {
    return with(rule_, {{"kafka.topics", "[" + order() + "]"},
                        {"cluster.ahead", "500"},
                        {"kafka.takeover", "standby"},
                        {"kafka.session_timeout", "1s"},
                        {"kafka.transaction_timeout", "2s"}});
  }
  std::unique_ptr<Daemon> resolver(const IndexSetup& index, const std::string& name) const {
    return start(index, {"--role", "resolver"}, name);
  }
  std::unique_ptr<Daemon> matcher(const IndexSetup& index, const std::string& shards,
                                  const std::string& name) const {
    return start(index, {"--role", "matcher", "--shards", shards}, name);
  }
  static std::unique_ptr<Daemon> start(const IndexSetup& index, std::vector<std::string> role,
                                       const std::string& name) {
    std::vector<std::string> arguments{"serve", "--config", index.config_file(), "--state", index.path(name)};
    arguments.insert(arguments.end(), role.begin(), role.end());
    return std::make_unique<Daemon>(arguments, Daemon::Environment{{"DOPPEL_HASH_KEY", kHashKey}});
  }

  // With output.verdicts: all, each document has one event, but for those that remove others.
  size_t events_of(size_t documents) const {
    return static_cast<size_t>(std::count_if(messages_.begin(),
                                             messages_.begin() + static_cast<long>(documents),
                                             [](const Message& m) { return m.value || !m.key; }));
  }
  size_t expected_by_now() const { return events_of(produced_); }

  // Waits for the events of so many documents more. False: they do not come.
  bool read(Reader& events, size_t documents, const std::function<void()>& meanwhile = [] {}) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(120);
    for (const size_t until = read_ + documents; read_ < until;) {
      const std::optional<Message> event = events.next(std::chrono::milliseconds(500));
      if (event && event->header("ce_type") != "original-removed") ++read_;
      if (std::chrono::steady_clock::now() > deadline) return false;
      if (!event) meanwhile();
    }
    return true;
  }

  void expect_same_as_alone(IndexSetup& index) {
    if (expected_.empty()) {
      const auto daemon = alone_->serve({{"DOPPEL_HASH_KEY", kHashKey}});
      ASSERT_TRUE(alone_->await_all(*daemon)) << daemon->said();
      daemon->terminate();
      EXPECT_EQ(daemon->await_exit(), 0) << daemon->said();
      expected_ = said(*alone_, alone_->options().output.topic);
      ASSERT_GT(expected_.size(), 50U);
    }
    const std::vector<std::string> got = said(index, index.options().output.topic);
    ASSERT_EQ(got.size(), expected_.size());
    for (size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], expected_[i]) << i;
  }

  static void stop(Daemon& daemon) {
    daemon.terminate();
    EXPECT_EQ(daemon.await_exit(), 0) << daemon.said();
  }

  const std::string bootstrap_ = Broker::shared().bootstrap();
  Client client_{bootstrap_};
  IndexSetup texts_{bootstrap_, {}, 4};
  IndexSetup::Settings rule_;
  std::unique_ptr<IndexSetup> alone_;
  std::unique_ptr<Daemon> signer_;
  std::vector<Message> messages_;
  size_t produced_ = 0, read_ = 0;
  std::vector<std::string> expected_;
};

TEST_F(Clusters, OneResolverAndTwoMatchersSayWhatOneProcessSays) {
  sign(2000, kRemovals);
  IndexSetup index(bootstrap_, cluster(), 1);
  come(1000);
  const auto resolves = resolver(index, "resolver");
  ASSERT_TRUE(resolves->await_line("ready")) << resolves->said();
  const auto low = matcher(index, "0-31/64", "low");
  const auto high = matcher(index, "32-63/64", "high");
  come(2000);
  Reader events(bootstrap_, index.options().output.topic);
  ASSERT_TRUE(read(events, expected_by_now())) << resolves->said() << low->said() << high->said();
  for (Daemon* daemon : {resolves.get(), low.get(), high.get(), signer_.get()}) stop(*daemon);
  expect_same_as_alone(index);
}

// Any process is killed, stopped for a while or replaced, matchers with the same shards compete, directories
// are lost, and the number of matchers changes, while documents come.
TEST_F(Clusters, FaultsLoseDoubleAndChangeNothing) {
  const char* given = std::getenv("CLUSTER_SEED");
  const uint64_t seed = given != nullptr ? std::stoull(given) : std::random_device()();
  const char* wanted = std::getenv("CLUSTER_FAULTS");
  const size_t faults = wanted != nullptr ? std::stoull(wanted) : 20;
  fmt::print("CLUSTER_SEED={} CLUSTER_FAULTS={}\n", seed, faults);
  std::mt19937_64 random(seed);
  sign(1000 + 100 * faults, kRemovals);
  IndexSetup index(bootstrap_, cluster(), 1);

  struct Process {
    std::string name, shards;  // no shards: a resolver
    std::unique_ptr<Daemon> daemon;
  };
  std::vector<Process> processes;
  const auto start = [&](Process& p) {
    p.daemon = p.shards.empty() ? resolver(index, p.name) : matcher(index, p.shards, p.name);
  };
  for (const auto& [name, shards] :
       {std::pair("resolver", ""), std::pair("standby", ""), std::pair("low", "0-31/64"),
        std::pair("high", "32-63/64"), std::pair("high-too", "32-63/64")}) {
    start(processes.emplace_back(Process{name, shards, nullptr}));
    if (processes.size() == 1) {
      ASSERT_TRUE(processes[0].daemon->await_line("ready")) << processes[0].daemon->said();
    }
  }
  come(1000);
  bool four = false;
  int made = 0;
  Reader events(bootstrap_, index.options().output.topic);
  // One that another one has replaced, or that cannot go on, is started again.
  const auto restart_resolvers = [&] {
    for (Process& each : processes)
      if (each.shards.empty() && each.daemon->await_exit(Daemon::Seconds(0))) start(each);
  };
  const auto read_more = [&](size_t count) {
    if (read(events, count, restart_resolvers)) return true;
    for (Process& p : processes) fmt::print("--- {} {}\n{}\n", p.name, p.shards, p.daemon->said());
    ADD_FAILURE() << "read " << read_ << " of " << expected_by_now();
    return false;
  };
  for (size_t fault = 0; fault < faults; ++fault) {
    come(produced_ + 100);
    Process& p = processes[random() % processes.size()];
    switch (random() % 6) {
      case 0:
      case 1:
        p.daemon->kill();
        start(p);
        break;
      case 2: {
        // It goes on when others have done its work, where there are others.
        p.daemon->signal(SIGSTOP);
        Process& other = processes[random() % processes.size()];
        if (&other != &p) {
          other.daemon->kill();
          start(other);
        }
        if (p.shards.empty() || p.name.starts_with("high")) {
          ASSERT_TRUE(read_more(1 + random() % (expected_by_now() - read_)));
        }
        p.daemon->signal(SIGCONT);
        break;
      }
      case 3:
        p.daemon->kill();
        p.daemon->await_exit();
        std::filesystem::remove_all(index.path(p.name));
        start(p);
        break;
      case 4:
        p.daemon->terminate();
        p.daemon->await_exit();
        start(p);
        break;
      default:
        // From two matchers to four and back: the others begin before those go.
        if (four) {
          start(processes.emplace_back(Process{fmt::format("low-{}", ++made), "0-31/64", nullptr}));
        } else {
          start(processes.emplace_back(Process{fmt::format("first-{}", ++made), "0-15/64", nullptr}));
          start(processes.emplace_back(Process{fmt::format("second-{}", made), "16-31/64", nullptr}));
        }
        for (Process& old : processes)
          if (old.shards == (four ? "0-15/64" : "0-31/64") || (four && old.shards == "16-31/64"))
            if (old.name != fmt::format("low-{}", made)) old.daemon->terminate();
        std::erase_if(processes, [&](const Process& old) {
          return (four && (old.shards == "0-15/64" || old.shards == "16-31/64")) ||
                 (!four && old.shards == "0-31/64");
        });
        four = !four;
    }
    restart_resolvers();
    // The next fault comes in the midst of the work.
    if (read_ + 50 < expected_by_now()) {
      ASSERT_TRUE(read_more(1 + random() % (expected_by_now() - 50 - read_)));
    }
  }
  ASSERT_TRUE(read_more(expected_by_now() - read_));
  for (Process& p : processes) p.daemon->terminate();
  for (Process& p : processes) EXPECT_TRUE(p.daemon->await_exit()) << p.daemon->said();
  stop(*signer_);
  expect_same_as_alone(index);
}

}  // namespace
}  // namespace doppel::testing
