// One index whose daemon is killed repeatedly, at random moments and at named points.

#include <fmt/format.h>

#include <random>
#include <set>

#include "daemon/requests.h"
#include "kafka/crash/plan.h"
#include "kafka/crash/scenarios.h"
#include "kafka/workload.h"

namespace doppel::testing {
namespace {

class KillRound {
 public:
  KillRound(const Plan& plan, Totals& totals, int number)
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
    totals_.finding(fmt::format("round {} ({}): {}", number_, scenario_.name, text));
  }

  void produce_some(size_t count) {
    const size_t end = std::min(messages_.size(), produced_ + count);
    produce(client_, messages_, produced_, end);
    produced_ = end;
  }

  // Undisturbed until the first documents are done. This measures how long a life is, so that kills fall into
  // all parts of it.
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

  // Asks to forget originals, copies and documents that are gone already.
  void ask_to_forget() {
    for (int i = 0; i < scenario_.forget_per_life; ++i) {
      const Message& m = messages_[random_() % produced_];
      const std::string id = fmt::format("{}/{}/{}", m.topic, m.partition, m.offset);
      const auto left = leave_request(setup_.options().state_directory, "event_id=" + id);
      if (!left.ok()) throw std::runtime_error(left.status().ToString());
      asked_for_.insert(id);
    }
  }

  void life() {
    produce_some(scenario_.documents_per_life);
    ask_to_forget();
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
    // At a kill point it ends by itself, unless it does not pass it; then it is killed later than others.
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
    // The signal may come before the process handles signals and writes anything.
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
      if (!asked_for_.contains(id)) finding("nobody asked to forget " + id);
    }
    if (asked_for_.size() > 30 && result.forgotten.empty()) finding("nothing was forgotten");
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
  std::set<std::string> asked_for_;  // event ids to forget
  double life_s_ = 1;
  bool ok_ = true;
};

}  // namespace

void run_kills(const Plan& plan, Totals& totals, int number) { KillRound(plan, totals, number).run(); }

}  // namespace doppel::testing
