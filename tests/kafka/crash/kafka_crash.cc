// Kills `doppel serve` again and again, at random moments and at named points, and compares what is committed
// at the end with what must have been said: scripts/crash runs it. Rounds of one index each stand beside each
// other on one broker; a round's schedule follows from the seed and its number.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <iostream>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include "absl/strings/str_split.h"
#include "kafka/broker.h"
#include "kafka/index_setup.h"
#include "kafka/workload.h"
#include "serve/forget_requests.h"

namespace doppel::testing {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

struct Scenario {
  const char* name;
  IndexSetup::Settings settings;
  int topics, partitions;
  size_t documents_per_life;
  double mean_words;
  int64_t step_ms;
  int wishes_per_life = 0;  // to forget something
};

// A setting that begins with ~ is a name with the index's own prefix.
const std::vector<Scenario>& scenarios() {
  static const std::vector<Scenario> all{
      {"removals",
       {{"tombstones", "key"}, {"kafka.batch_documents", "16"}, {"state.checkpoint_documents", "25"}},
       1,
       3,
       40,
       60,
       60'000},
      {"expiry",
       {{"expire_after", "20d"},
        {"tombstones", "key"},
        {"kafka.batch_documents", "50"},
        {"state.checkpoint_documents", "60"}},
       1,
       2,
       130,
       25,
       3'600'000},
      {"all outputs",
       {{"output.verdicts", "all"},
        {"output.unique_topic", "~-unique"},
        {"tombstones", "key"},
        {"on_update", "replace"},
        {"kafka.batch_documents", "9"},
        {"state.checkpoint_documents", "20"},
        {"state.fsync", "commit"}},
       1,
       4,
       30,
       60,
       60'000},
      {"two topics",
       {{"kafka.topics", "['^~-in-.*']"},
        {"verify", "signature"},
        {"state.fsync", "none"},
        {"threads", "2"},
        {"kafka.batch_documents", "200"},
        {"state.checkpoint_documents", "40"}},
       2,
       2,
       60,
       80,
       60'000},
      {"no room",
       {{"max_documents", "300"},
        {"tombstones", "key"},
        {"kafka.batch_documents", "12"},
        {"state.checkpoint_documents", "30"},
        {"state.snapshots", "3"}},
       1,
       2,
       60,
       40,
       60'000,
       3},
  };
  return all;
}

struct Plan {
  uint64_t seed = 0;
  int kills_per_round = 40;
  std::vector<std::string> points;
  std::string bootstrap;
  Clock::time_point deadline;
  bool verbose = false;
};

struct Totals {
  std::mutex mutex;
  int kills = 0, at_points = 0, terminated = 0;
  std::vector<std::string> findings;
  std::map<std::string, int> points;
  size_t documents = 0;
};

class Round {
 public:
  Round(const Plan& plan, Totals& totals, int number)
      : plan_(plan),
        totals_(totals),
        number_(number),
        scenario_(scenarios()[static_cast<size_t>(number) % scenarios().size()]),
        random_(plan.seed * 1'000'003 + static_cast<uint64_t>(number)),
        setup_(plan.bootstrap, scenario_.settings, scenario_.partitions, scenario_.topics),
        client_(plan.bootstrap) {
    messages_ =
        make_workload({.seed = random_(),
                       .documents = scenario_.documents_per_life * static_cast<size_t>(plan.kills_per_round),
                       .topics = setup_.inputs(),
                       .partitions = scenario_.partitions,
                       .mean_words = scenario_.mean_words,
                       .step_ms = scenario_.step_ms});
  }

  void run() {
    try {
      first_life();
      for (int i = 1; i < plan_.kills_per_round && ok_ && Clock::now() < plan_.deadline; ++i) life();
      if (ok_) last_life();
      if (ok_) compare();
    } catch (const std::exception& e) {
      finding(e.what());
    }
  }

 private:
  double uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }

  void finding(const std::string& text) {
    ok_ = false;
    const std::lock_guard lock(totals_.mutex);
    totals_.findings.push_back(fmt::format("round {} ({}): {}", number_, scenario_.name, text));
    std::cerr << "FINDING: " << totals_.findings.back() << std::endl;
  }

  void produce_some(size_t count) {
    const size_t end = std::min(messages_.size(), produced_ + count);
    produce(client_, messages_, produced_, end);
    produced_ = end;
  }

  // Undisturbed until the first documents are done: tells how long a life is, so that kills fall everywhere
  // into it.
  void first_life() {
    produce_some(scenario_.documents_per_life);
    const auto begin = Clock::now();
    const auto daemon = setup_.serve();
    if (!await_progress(*daemon)) return;
    life_s_ = Seconds(Clock::now() - begin).count();
    daemon->kill();
    ended(*daemon, "", false);
  }

  bool await_progress(Daemon& daemon) {
    LogFollower follower(plan_.bootstrap, setup_.options().kafka.index_log);
    const auto gone = [&] { return daemon.await_exit(Seconds(0)).has_value(); };
    if (follower.await(ends_of(messages_, produced_), std::chrono::seconds(120), gone)) return true;
    finding(fmt::format("it does not get done, or ended: {}", daemon.said()));
    return false;
  }

  // Of originals, of copies and of what is gone already.
  void leave_wishes() {
    for (int i = 0; i < scenario_.wishes_per_life; ++i) {
      const Message& m = messages_[random_() % produced_];
      const std::string id = fmt::format("{}/{}/{}", m.topic, m.partition, m.offset);
      const auto left = leave_request(setup_.options().state_directory, "event_id=" + id);
      if (!left.ok()) throw std::runtime_error(left.status().ToString());
      wished_.insert(id);
    }
  }

  void life() {
    produce_some(scenario_.documents_per_life);
    leave_wishes();
    Daemon::Environment environment;
    std::string point;
    const double kind = uniform(), when = uniform();
    const size_t which = random_() % std::max<size_t>(1, plan_.points.size());
    const uint64_t count = 1 + random_() % (random_() % 4 + 1);
    if (kind < 0.5 && !plan_.points.empty()) {
      point = plan_.points[which];
      environment["DOPPEL_KILL_AT"] = fmt::format("{}:{}", point, count);
    }
    const bool terminate = kind >= 0.9;
    const auto daemon = setup_.serve(environment);
    // At a point it ends by itself, unless it does not come by; then it is killed later than others.
    if (!daemon->await_exit(Seconds(point.empty() ? when * 1.3 * life_s_ : 2 * life_s_ + 0.5))) {
      if (terminate) {
        daemon->terminate();
        daemon->await_exit(Seconds(uniform() * 1.5));
      } else {
        point.clear();
      }
      daemon->kill();
    }
    ended(*daemon, point, terminate);
  }

  void ended(Daemon& daemon, const std::string& point, bool may_be_done) {
    const std::optional<int> code = daemon.await_exit(Seconds(30));
    // The signal may come before the process has said that it wants to hear of it, or a word.
    const bool not_begun = may_be_done && code == 143 && daemon.said().empty();
    if (code != 137 && !not_begun && !(may_be_done && code == 0)) {
      finding(fmt::format("exit {}: {}", code.value_or(-1), daemon.said()));
      return;
    }
    const std::lock_guard lock(totals_.mutex);
    if (code == 0) {
      ++totals_.terminated;
      return;
    }
    ++totals_.kills;
    if (point.empty()) return;
    ++totals_.at_points;
    ++totals_.points[point];
  }

  void last_life() {
    produce_some(messages_.size());
    const auto daemon = setup_.serve();
    if (!await_progress(*daemon)) return;
    daemon->terminate();
    const std::optional<int> code = daemon->await_exit(Seconds(60));
    if (code != 0) finding(fmt::format("SIGTERM: exit {}: {}", code.value_or(-1), daemon->said()));
  }

  void compare() {
    const Verification result = setup_.verify();
    for (const std::string& f : result.findings) finding(f);
    for (const std::string& id : result.forgotten) {
      if (!wished_.contains(id)) finding("nobody wished to forget " + id);
    }
    if (wished_.size() > 30 && result.forgotten.empty()) finding("nothing was forgotten");
    const std::string difference = setup_.compare_with_rebuilt();
    if (!difference.empty()) finding(difference);
    const std::lock_guard lock(totals_.mutex);
    totals_.documents += result.documents;
    if (plan_.verbose)
      std::cout << fmt::format("round {} ({}): {}\n", number_, scenario_.name, result.text()) << std::flush;
  }

  const Plan& plan_;
  Totals& totals_;
  int number_;
  const Scenario& scenario_;
  std::mt19937_64 random_;
  IndexSetup setup_;
  Client client_;
  std::vector<Message> messages_;
  size_t produced_ = 0;
  std::set<std::string> wished_;  // event ids to forget
  double life_s_ = 1;
  bool ok_ = true;
};

int run(int argc, char** argv) {
  Plan plan;
  int kills = 300, jobs = 3, only = -1;
  double minutes = 60;
  std::string points;
  plan.seed = std::random_device()();
  CLI::App app{
      "kills doppel serve again and again, and compares what it published with what must have been said"};
  app.add_option("--kills", kills, "how often, in all rounds together")->capture_default_str();
  app.add_option("--seed", plan.seed, "of the schedule; the same seed is the same schedule");
  app.add_option("--minutes", minutes, "no more kills after so long")->capture_default_str();
  app.add_option("--jobs", jobs, "rounds beside each other")->capture_default_str();
  app.add_option("--round", only, "this one only: the number that a finding names");
  app.add_option("--points", points, "names of kill points, separated by commas");
  app.add_flag("--verbose", plan.verbose, "a line for each round");
  CLI11_PARSE(app, argc, argv);
  plan.points = absl::StrSplit(points, ',', absl::SkipEmpty());
  plan.bootstrap = Broker::shared().bootstrap();
  plan.deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(Seconds(60 * minutes));
  std::cout << fmt::format("seed {}\n", plan.seed) << std::flush;

  Totals totals;
  std::atomic<int> next = only >= 0 ? only : 0;
  const int end = only >= 0 ? only + 1 : INT_MAX;
  const auto enough = [&] {
    const std::lock_guard lock(totals.mutex);
    return totals.kills >= kills || !totals.findings.empty() || Clock::now() > plan.deadline;
  };
  const auto begin = Clock::now();
  std::vector<std::thread> workers;
  for (int j = 0; j < jobs; ++j) {
    workers.emplace_back([&] {
      for (int number = 0; !enough() && (number = next++) < end;) Round(plan, totals, number).run();
    });
  }
  for (std::thread& w : workers) w.join();
  for (const auto& [point, count] : totals.points) std::cout << fmt::format("  {:4} at {}\n", count, point);
  for (const std::string& f : totals.findings) std::cout << "FINDING: " << f << "\n";
  const bool too_few = only < 0 && totals.kills < kills && totals.findings.empty();
  if (too_few) std::cout << fmt::format("only {} of {} kills in {} minutes\n", totals.kills, kills, minutes);
  std::cout << fmt::format(
      "seed {}: {} kills ({} at named points), {} clean ends, {} documents, {:.0f} s: {} findings\n",
      plan.seed, totals.kills, totals.at_points, totals.terminated, totals.documents,
      Seconds(Clock::now() - begin).count(), totals.findings.size());
  return totals.findings.empty() && !too_few ? 0 : 1;
}

}  // namespace
}  // namespace doppel::testing

int main(int argc, char** argv) {
  try {
    return doppel::testing::run(argc, argv);
  } catch (const std::exception& e) {
    std::cerr << "kafka_crash: " << e.what() << "\n";
    return 2;
  }
}
