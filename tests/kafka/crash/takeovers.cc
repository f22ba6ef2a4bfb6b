// One index that daemons take over from each other while documents come. Each takeover must settle within
// seconds, with one daemon that serves, and none may end except by our signals.

#include <fmt/format.h>
#include <signal.h>

#include <filesystem>
#include <thread>

#include "kafka/broker.h"
#include "kafka/crash/feed.h"
#include "kafka/crash/plan.h"
#include "kafka/crash/takeover_schedule.h"
#include "kafka/index_setup.h"

namespace doppel::testing {
namespace {

namespace fs = std::filesystem;

constexpr int kReplaced = 75, kStopped = 3, kKilled = 137;
constexpr double kTransactionTimeout = 2;
constexpr std::chrono::milliseconds kStep(10);
constexpr double kSettleS = 30;    // until one is left, including its whole start
constexpr double kReplacedS = 15;  // until the other one ends, after its successor serves
constexpr std::chrono::seconds kPatience(90);
constexpr size_t kDirectoriesKept = 3;
constexpr int kRestarts = 5;  // of a daemon that an absence of Kafka has stopped

// A daemon and its directory.
struct Runner {
  std::unique_ptr<Daemon> daemon;
  std::string directory;
  bool killed = false, stopped = false, ready = false;
  std::optional<int> code() const { return daemon->await_exit(Seconds(0)); }
  bool runs() const { return !code().has_value(); }
};

class TakeoverRound {
 public:
  TakeoverRound(const Plan& plan, Totals& totals, int number)
      : plan_(plan),
        totals_(totals),
        number_(number),
        schedule_(make_takeover_schedule(plan.seed, number, plan.takeovers_per_round, kTransactionTimeout)),
        broker_(schedule_.own_broker ? Broker::own() : nullptr),
        bootstrap_(broker_ ? broker_->bootstrap() : plan.bootstrap),
        setup_(
            bootstrap_,
            {{"output.best", "longest"},
             {"tombstones", "key"},
             {"kafka.properties.transaction.timeout.ms", fmt::format("{:.0f}", transaction_timeout() * 1000)},
             {"state.checkpoint_documents", "4000"}},
            schedule_.partitions),
        feed_(bootstrap_, setup_.input(),
              {.seed = schedule_.documents_seed,
               .originals = plan.originals,
               .partitions = schedule_.partitions,
               .rate = schedule_.rate}) {}

  void run() {
    begin();
    if (ok_) feed_.start();
    for (size_t i = 0; i < schedule_.takeovers.size() && ok_ && !enough(); ++i) {
      doing_ = fmt::format("takeover {} ({})", i, schedule_.takeovers[i].text());
      take_over(schedule_.takeovers[i]);
    }
    doing_ = "the end";
    feed_.stop();
    if (ok_) end();
    if (ok_) compare();
  }

  void finding(const std::string& text) {
    ok_ = false;
    totals_.finding(
        fmt::format("round {} ({} partitions), {}: {}", number_, schedule_.partitions, doing_, text));
  }

 private:
  // A broker that was killed may forget a commit, and its own time-out may then drop what was committed
  // (docs/adr/0017). So where brokers are killed the time-out is longer than a restart takes.
  double transaction_timeout() const { return schedule_.own_broker ? 20 : kTransactionTimeout; }

  bool enough() {
    const std::lock_guard lock(totals_.mutex);
    return totals_.takeovers >= plan_.takeovers || Clock::now() > plan_.deadline;
  }

  Runner start(const std::string& directory) {
    Runner out{.daemon = setup_.serve({}, directory), .directory = directory};
    return out;
  }

  void begin() {
    doing_ = "the originals";
    feed_.produce_originals();
    owner_ = start(setup_.path("state-0"));
    if (!owner_.daemon->await_line("ready")) return finding("it does not start: " + owner_.daemon->said());
    follower_.emplace(bootstrap_, setup_.options().kafka.index_log);
    if (!await_progress(owner_)) return finding("not judged: " + owner_.daemon->said());
    owner_.daemon->terminate();
    if (owner_.daemon->await_exit(Seconds(60)) != 0) return finding("SIGTERM: " + owner_.daemon->said());
    keep_copy(owner_.directory);
    owner_ = start(owner_.directory);
  }

  bool await_progress(Runner& runner) {
    return follower_->await(feed_.ends(), kPatience, [&] { return !runner.runs(); });
  }

  // ---- directories

  void keep_copy(const std::string& of) {
    const std::string copy = setup_.path(fmt::format("copy-{}", ++made_));
    fs::copy(of, copy, fs::copy_options::recursive);
    keep(copies_, copy);
  }
  void released(const std::string& directory) {
    if (!fs::exists(directory)) return;  // it was killed before it created one
    if (++releases_ % 3 == 1) keep_copy(directory);
    keep(former_, directory);
  }
  static void keep(std::vector<std::string>& all, const std::string& directory) {
    all.push_back(directory);
    if (all.size() <= kDirectoriesKept) return;
    fs::remove_all(all.front());
    all.erase(all.begin());
  }
  std::string take(Directory which) {
    std::vector<std::string>* const from = which == Directory::former ? &former_ : &copies_;
    if (which == Directory::empty || from->empty()) return setup_.path(fmt::format("state-{}", ++made_));
    std::string out = from->front();
    from->erase(from->begin());
    return out;
  }

  // ---- one takeover

  void take_over(const Takeover& t) {
    std::this_thread::sleep_for(Seconds(t.pause_s));
    std::vector<Runner> all;
    all.push_back(std::move(owner_));
    const auto begin = Clock::now();
    all.push_back(start(take(t.challengers[0])));
    const auto start_second = [&] {
      if (t.challengers.size() < 2 || all.size() > 2) return;
      watch(all, after(begin, t.second_at * start_s_), begin);
      all.push_back(start(take(t.challengers[1])));
    };
    for (const Event& e : t.events) {
      if (e.at > t.second_at) start_second();
      watch(all, after(begin, e.at * start_s_ + e.later), begin);
      if (e.who == 2) start_second();
      act(e, all);
    }
    start_second();
    settle(t, all, begin);
    if (!feed_.failed().empty()) finding("no documents come: " + feed_.failed());
  }

  // Watches until `until`, and notes who serves.
  void watch(std::vector<Runner>& all, Clock::time_point until, Clock::time_point begin) {
    do {
      for (Runner& r : all) {
        if (&r == &all[0] || r.ready || !r.daemon->await_line("ready", Seconds(0))) continue;
        r.ready = true;
        if (first_) start_s_ = Seconds(Clock::now() - begin).count();
        first_ = false;
      }
      std::this_thread::sleep_for(kStep);
    } while (Clock::now() < until);
  }

  void act(const Event& e, std::vector<Runner>& all) {
    if (e.act == Act::kill_broker) {
      broker_->kill();
      const std::lock_guard lock(totals_.mutex);
      ++totals_.broker_kills;
      return;
    }
    if (e.act == Act::restart_broker) return broker_->restart();
    Runner& r = all[static_cast<size_t>(e.who)];
    const bool runs = r.runs();
    r.daemon->signal(e.act == Act::kill ? SIGKILL : e.act == Act::stop ? SIGSTOP : SIGCONT);
    r.killed |= e.act == Act::kill && runs;
    const std::lock_guard lock(totals_.mutex);
    totals_.kills += e.act == Act::kill && runs ? 1 : 0;
    totals_.stops += e.act == Act::stop && runs ? 1 : 0;
  }

  // Checks that exactly one is left, and makes progress.
  void settle(const Takeover& t, std::vector<Runner>& all, Clock::time_point begin) {
    const bool kafka_was_away = !t.events.empty() && t.events[0].act == Act::kill_broker;
    const auto deadline = after(Clock::now(), kSettleS);
    std::optional<Clock::time_point> served;  // since when a challenger serves
    bool killed = false;
    int restarts = 0;
    while (ok_) {
      watch(all, Clock::now(), begin);
      for (size_t i = 0; i < all.size(); ++i) {
        const std::optional<int> code = all[i].code();
        if (i > 0 && all[i].ready && !served) served = Clock::now();
        if (!code) continue;
        killed |= all[i].killed;
        if (code == kStopped && kafka_was_away && restarts++ < kRestarts) {
          const bool ready = all[i].ready;
          all[i] = start(all[i].directory);  // like its service unit
          all[i].ready = ready && i == 0;
          continue;
        }
        if (*code == kKilled ? !all[i].killed : *code != kReplaced)
          return finding(fmt::format("{} ended with {}:\n{}", i == 0 ? "the incumbent" : "a challenger",
                                     *code, all[i].daemon->said()));
      }
      std::vector<size_t> left;
      for (size_t i = 0; i < all.size(); ++i) {
        if (all[i].runs()) left.push_back(i);
      }
      const auto now = Clock::now();
      const bool too_long = now > deadline || (served && now > after(*served, kReplacedS) && all.size() == 2);
      if (left.size() > 1) {
        if (too_long) return finding(fmt::format("{} still run:\n{}", left.size(), said(all)));
        continue;
      }
      if (left.empty() && !killed) return finding("nobody serves, and nobody was killed:\n" + said(all));
      if (left.empty()) {
        all.push_back(start(take(Directory::former)));
        all.back().ready = true;  // not part of the takeover
        continue;
      }
      if (served) {
        const std::lock_guard lock(totals_.mutex);
        totals_.slowest_end_s = std::max(totals_.slowest_end_s, Seconds(now - *served).count());
      }
      if (!await_progress(all[left[0]])) {
        if (all[left[0]].runs()) return finding("the one that is left does not get on:\n" + said(all));
        continue;
      }
      return hand_over(all, left[0], t.challengers.size());
    }
  }

  static std::string said(std::vector<Runner>& all) {
    std::string out;
    for (size_t i = 0; i < all.size(); ++i)
      out += fmt::format("--- {}, exit {}:\n{}", i, all[i].code().value_or(-1), all[i].daemon->said());
    return out;
  }

  void hand_over(std::vector<Runner>& all, size_t winner, size_t challengers) {
    {
      const std::lock_guard lock(totals_.mutex);
      if (winner == 0) ++totals_.kept;
      // Not counting a daemon that was started afterwards.
      if (winner != 0 && winner <= challengers) ++totals_.takeovers;
      if (plan_.verbose)
        std::cout << fmt::format("round {}, {}: {} serves\n", number_, doing_, winner) << std::flush;
    }
    for (size_t i = 0; i < all.size(); ++i) {
      if (i == winner) continue;
      all[i].daemon.reset();
      released(all[i].directory);
    }
    owner_ = std::move(all[winner]);
    owner_.ready = false;
  }

  // ---- the end

  void end() {
    if (!await_progress(owner_)) return finding("not all is judged: " + owner_.daemon->said());
    // A daemon that was just started may have nothing to judge. Before it handles signals, SIGTERM kills it.
    const bool ready = owner_.daemon->said().find(" INFO ready") != std::string::npos;
    if (!ready && !owner_.daemon->await_line("ready"))
      return finding("it does not start: " + owner_.daemon->said());
    owner_.daemon->terminate();
    const std::optional<int> code = owner_.daemon->await_exit(Seconds(60));
    if (code != 0) finding(fmt::format("SIGTERM: exit {}: {}", code.value_or(-1), owner_.daemon->said()));
  }

  void compare() {
    const auto begin = Clock::now();
    setup_.set({{"state.directory", owner_.directory}});
    const Verification result = setup_.verify();
    for (const std::string& f : result.findings) finding(f);
    const std::string difference = setup_.compare_with_rebuilt();
    if (!difference.empty()) finding(difference);
    const std::lock_guard lock(totals_.mutex);
    totals_.documents += result.documents;
    if (plan_.verbose)
      std::cout << fmt::format(
                       "round {} ({} partitions{}, a start takes {:.2f} s, verified in {:.1f} s): {}\n",
                       number_, schedule_.partitions, broker_ ? ", its own broker" : "", start_s_,
                       Seconds(Clock::now() - begin).count(), result.text())
                << std::flush;
  }

  const Plan& plan_;
  Totals& totals_;
  int number_;
  TakeoverSchedule schedule_;
  std::unique_ptr<Broker> broker_;
  std::string bootstrap_;
  IndexSetup setup_;
  Feed feed_;
  std::optional<LogFollower> follower_;
  Runner owner_;
  std::vector<std::string> former_, copies_;  // directories that nobody uses
  int made_ = 0, releases_ = 0;
  double start_s_ = 1;  // how long a start takes, from an empty directory or a small one
  bool first_ = true, ok_ = true;
  std::string doing_;
};

}  // namespace

void run_takeovers(const Plan& plan, Totals& totals, int number) {
  run_round<TakeoverRound>(plan, totals, number);
}

}  // namespace doppel::testing
