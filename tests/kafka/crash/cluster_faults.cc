// One index on many machines, whose processes are killed, stopped and replaced, several at once, while
// documents come. At the end the order must have each document once, the publication must be that of one
// process that reads the same order, and the directories must hold the index of the log.

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <thread>

#include "kafka/broker.h"
#include "kafka/cluster_setup.h"
#include "kafka/crash/cluster_schedule.h"
#include "kafka/crash/plan.h"
#include "kafka/workload.h"

namespace doppel::testing {
namespace {

namespace fs = std::filesystem;

constexpr int kDone = 0, kStopped = 3, kReplaced = 75, kKilled = 137, kTerminated = 143;
constexpr double kSession = 1;
constexpr size_t kFirstDocuments = 300, kLastDocuments = 100;
constexpr int kPartitions = 4;
constexpr double kPatience = 90;
constexpr size_t kRestartsMost = 100;  // of processes that ended by themselves
constexpr auto kTick = std::chrono::milliseconds(10);

const std::vector<IndexSetup::Settings>& rules() {
  static const std::vector<IndexSetup::Settings> all{
      {{"tombstones", "key"}, {"on_update", "replace"}, {"expire_after", "6h"}, {"max_listed", "2"}},
      {{"tombstones", "key"}},
      {{"output.best", "longest"}, {"tombstones", "key"}, {"max_documents", "300"}, {"max_listed", "2"}},
      {{"verify", "signature"}, {"expire_after", "6h"}},
  };
  return all;
}

// Every second cluster has nearly all originals in segments. One process alone has them in memory.
IndexSetup::Settings index_settings(int number) {
  return {{"state.checkpoint_documents", "400"}, {"memory", number % 2 == 0 ? "10000" : "0"}};
}

struct Process {
  std::string name;
  ClusterRole role = ClusterRole::signer;
  std::string shards;
  std::unique_ptr<Daemon> daemon;
  bool down = false;     // by our signal; it is started again later
  bool stopped = false;  // by SIGSTOP
  bool dies = false;     // at a kill point
  bool leaves = false;   // ended for good
};

class ClusterRound {
 public:
  ClusterRound(const Plan& plan, Totals& totals, int number)
      : plan_(plan),
        totals_(totals),
        number_(number),
        schedule_(
            make_cluster_schedule(plan.seed, number, static_cast<size_t>(plan.faults_per_round), kSession)),
        broker_(schedule_.own_broker ? Broker::own() : nullptr),
        bootstrap_(broker_ ? broker_->bootstrap() : plan.bootstrap),
        setup_(bootstrap_, rules()[schedule_.rule % rules().size()], kPartitions),
        index_(bootstrap_, setup_.cluster(index_settings(number)), 1),
        client_(bootstrap_, {{"enable.idempotence", "true"}}),
        messages_(make_workload({.seed = schedule_.documents_seed,
                                 .documents = kFirstDocuments + schedule_.documents() + kLastDocuments,
                                 .topics = {setup_.input()},
                                 .partitions = kPartitions})) {}

  void run() {
    begin();
    for (size_t i = 0; i < schedule_.steps.size() && ok_ && Clock::now() < plan_.deadline; ++i) {
      doing_ = fmt::format("step {} ({})", i, schedule_.steps[i].text());
      perform(schedule_.steps[i]);
    }
    doing_ = "the end";
    if (ok_) await_end();
    if (ok_) end();
    if (ok_) compare();
  }

  void finding(const std::string& text) {
    ok_ = false;
    totals_.finding(fmt::format("round {}, {}: {}", number_, doing_, text));
  }

 private:
  // ---- processes

  Process& add(ClusterRole role, const std::string& name, const std::string& shards = "") {
    processes_.push_back(std::make_unique<Process>(Process{.name = name, .role = role, .shards = shards}));
    start(*processes_.back());
    return *processes_.back();
  }

  void start(Process& p, const std::string& kill_at = "") {
    Daemon::Environment environment;
    if (!kill_at.empty()) environment["DOPPEL_KILL_AT"] = kill_at;
    p.dies = !kill_at.empty();
    p.down = p.stopped = false;
    p.daemon.reset();
    p.daemon = p.role == ClusterRole::signer ? setup_.signer(environment)
               : p.role == ClusterRole::resolver
                   ? ClusterSetup::resolver(index_, p.name, environment)
                   : ClusterSetup::matcher(index_, p.shards, p.name, environment);
  }

  static bool serves(Process& p) { return p.daemon->said().find(" INFO ready") != std::string::npos; }

  std::vector<Process*> all_of(ClusterRole role) const {
    std::vector<Process*> out;
    for (const auto& p : processes_)
      if (p->role == role && !p->leaves) out.push_back(p.get());
    return out;
  }

  // Restarts processes that ended by themselves, like their service unit, if they may end.
  void mind() {
    for (const auto& p : processes_) {
      if (!ok_ || p->down || p->leaves) continue;
      const std::optional<int> code = p->daemon->await_exit(Seconds(0));
      if (!code) continue;
      const bool resolves = p->role == ClusterRole::resolver;
      const bool others_matched =
          p->daemon->said().find("others have their shards; start again") != std::string::npos;
      const bool may_end = (code == kKilled && p->dies) || (code == kReplaced && resolves) ||
                           (code == kStopped && ((resolves && others_matched) || broker_was_away_));
      if (!may_end) return finding(fmt::format("{} ended with {}:\n{}", p->name, *code, p->daemon->said()));
      if (code == kKilled) count("die at a point");
      if (++restarts_ > kRestartsMost)
        return finding(fmt::format("{} ends again and again:\n{}", p->name, said()));
      start(*p);
    }
  }

  std::string said() const {
    std::string out;
    for (const auto& p : processes_)
      out += fmt::format("--- {} {}, exit {}\n{}", p->name, p->shards,
                         p->daemon->await_exit(Seconds(0)).value_or(-1), p->daemon->said());
    return out;
  }

  void count(const std::string& what) {
    const std::lock_guard lock(totals_.mutex);
    ++totals_.faults;
    ++totals_.points[what];
  }

  // ---- documents

  void come(size_t count) {
    const size_t end = std::min(messages_.size(), produced_ + count);
    produce(client_, messages_, produced_, end);
    for (size_t i = produced_; i < end; ++i) expected_ += messages_[i].value || !messages_[i].key ? 1 : 0;
    produced_ = end;
  }

  // With output.verdicts: all, each document has one event, except removals.
  void read_for(Clock::duration patience) {
    const std::optional<Message> event =
        events_->next(std::chrono::duration_cast<std::chrono::milliseconds>(patience));
    if (event && event->header("ce_type") != "original-removed") ++read_;
  }

  void await_share(double share) {
    const size_t open = expected_ - std::min(read_, expected_);
    const size_t until = read_ + static_cast<size_t>(share * static_cast<double>(open));
    const auto deadline = after(Clock::now(), kPatience);
    while (ok_ && read_ < until) {
      read_for(std::chrono::milliseconds(200));
      mind();
      if (ok_ && Clock::now() > deadline)
        finding(fmt::format("it does not get on: {} of {} events in {} s\n{}", read_, expected_, kPatience,
                            said()));
    }
  }

  void watch_until(Clock::time_point until) {
    while (ok_ && Clock::now() < until) {
      mind();
      read_for(kTick);
    }
  }

  // ---- a round

  void begin() {
    doing_ = "the beginning";
    for (int i = 0; i < 3; ++i) add(ClusterRole::signer, fmt::format("signer-{}", i));
    Process& first = add(ClusterRole::resolver, "resolver-0");
    come(kFirstDocuments);
    if (!first.daemon->await_line("ready")) return finding("it does not start: " + first.daemon->said());
    add(ClusterRole::resolver, "resolver-1");
    for (const char* shards : {"0-31/64", "32-63/64"}) add(ClusterRole::matcher, directory(shards), shards);
    events_.emplace(bootstrap_, index_.options().output.topic);
    await_share(0.1);
  }

  static std::string directory(std::string shards) {
    std::replace(shards.begin(), shards.end(), '/', '-');
    return "matcher-" + shards;
  }

  // The faults by time; simultaneous ones in the order of the plan.
  using Moments = std::multimap<double, std::function<void()>>;

  void perform(const ClusterStep& step) {
    come(step.documents);
    await_share(step.progress);
    Moments moments;
    std::set<Process*> chosen;
    for (const ClusterFault& fault : step.faults) plan_fault(fault, chosen, moments);
    const auto begin = Clock::now();
    for (const auto& [at, act] : moments) {
      watch_until(after(begin, at));
      if (ok_) act();
    }
    for (const auto& p : processes_)
      if (p->leaves) expect_end(*p);
    std::erase_if(processes_, [](const auto& p) { return p->leaves; });
    if (plan_.verbose && ok_)
      std::cout << fmt::format("round {}, {}: {} of {} events, {:.1f} s\n", number_, doing_, read_, expected_,
                               Seconds(Clock::now() - begin).count())
                << std::flush;
  }

  // Returns the process that the fault names, or the next one without a fault in this step.
  Process* choose(const ClusterFault& fault, std::set<Process*>& chosen) {
    const std::vector<Process*> all = all_of(fault.role);
    for (size_t i = 0; i < all.size(); ++i) {
      Process* p = all[(fault.which + i) % all.size()];
      if (chosen.insert(p).second) return p;
    }
    return nullptr;
  }

  void plan_fault(const ClusterFault& fault, std::set<Process*>& chosen, Moments& moments) {
    const double end = fault.at_s + fault.for_s;
    if (fault.act == ClusterAct::kill_broker) {
      moments.emplace(fault.at_s, [this] {
        broker_was_away_ = true;
        broker_->kill();
        count(name_of(ClusterAct::kill_broker));
      });
      moments.emplace(end, [this] { broker_->restart(); });
      return;
    }
    if (fault.act == ClusterAct::move)
      return void(moments.emplace(fault.at_s, [this, fault] { move(fault); }));
    // One after the other, after the other faults of resolvers.
    if (fault.act == ClusterAct::turn) return void(moments.emplace(1 + kSession, [this] { turn(); }));
    Process* const p = choose(fault, chosen);
    if (p == nullptr) return;
    if (fault.act == ClusterAct::replace) {
      moments.emplace(fault.at_s, [this, p] { add_second(*p); });
      moments.emplace(end, [this, p] {
        p->daemon->kill();
        p->leaves = true;
        count(name_of(ClusterAct::replace));
      });
      return;
    }
    moments.emplace(fault.at_s, [this, p, fault] { strike(*p, fault); });
    moments.emplace(end, [this, p, fault] { mend(*p, fault); });
  }

  void strike(Process& p, const ClusterFault& fault) {
    count(name_of(fault.act));
    if (fault.act == ClusterAct::stop) {
      p.stopped = true;
      return p.daemon->signal(SIGSTOP);
    }
    p.down = true;
    if (fault.act == ClusterAct::end) return p.daemon->terminate();
    p.daemon->kill();
  }

  void mend(Process& p, const ClusterFault& fault) {
    if (fault.act == ClusterAct::stop) {
      p.stopped = false;
      return p.daemon->signal(SIGCONT);
    }
    if (!expect_end(p)) return;
    if (fault.act == ClusterAct::lose_directory) fs::remove_all(index_.path(p.name));
    std::string point;
    if (fault.also && !plan_.points.empty())
      point = fmt::format("{}:{}", plan_.points[fault.which % plan_.points.size()], 1 + fault.which % 3);
    start(p, point);
  }

  // Checks the end of a process that was terminated or killed.
  bool expect_end(Process& p) {
    const std::optional<int> code = p.daemon->await_exit(Seconds(60));
    // The signal may come before the process handles it, or when it is about to end by itself.
    const bool ended = code == kDone || code == kKilled || (code == kTerminated && !serves(p)) ||
                       (p.role == ClusterRole::resolver && (code == kReplaced || code == kStopped)) ||
                       (code == kStopped && broker_was_away_);
    if (!ended) finding(fmt::format("{} ended with {}:\n{}", p.name, code.value_or(-1), p.daemon->said()));
    return ended;
  }

  // Kills the resolver that decides; the other one has to take over.
  void turn() {
    const std::vector<Process*> all = all_of(ClusterRole::resolver);
    Process* const decides = serves(*all[0]) ? all[0] : all[1];
    Process* const other = decides == all[0] ? all[1] : all[0];
    decides->daemon->kill();
    decides->daemon->await_exit();
    start(*decides);
    count(name_of(ClusterAct::turn));
    const auto deadline = after(Clock::now(), kPatience);
    while (ok_ && !serves(*other) && !serves(*decides)) {
      watch_until(after(Clock::now(), 0.05));
      if (Clock::now() > deadline) finding("nobody takes over:\n" + said());
    }
  }

  void add_second(Process& p) {
    add(ClusterRole::matcher, fmt::format("{}-{}", directory(p.shards), ++made_), p.shards);
  }

  // Starts matchers with other shards, and ends the present ones.
  void move(const ClusterFault& fault) {
    const std::vector<Process*> old = all_of(ClusterRole::matcher);
    four_ = !four_;
    std::vector<Process*> fresh;
    for (const char* shards : four_ ? std::vector<const char*>{"0-15/64", "16-31/64", "32-47/64", "48-63/64"}
                                    : std::vector<const char*>{"0-31/64", "32-63/64"})
      fresh.push_back(&add(ClusterRole::matcher, directory(shards), shards));
    const auto deadline = after(Clock::now(), kPatience);
    for (Process* p : fresh) {
      while (fault.also && ok_ && !serves(*p)) {
        watch_until(after(Clock::now(), 0.05));
        if (Clock::now() > deadline) return finding("a matcher does not start: " + p->daemon->said());
      }
    }
    for (Process* p : old) {
      p->leaves = true;
      fault.which % 2 == 0 ? p->daemon->kill() : p->daemon->terminate();
      count(name_of(ClusterAct::move));
    }
  }

  // ---- the end

  void await_end() {
    come(messages_.size());
    await_share(1);
    if (!ok_) return;
    // Removals have no event of their own.
    Reader order(bootstrap_, setup_.order());
    size_t in_order = 0;
    const auto deadline = after(Clock::now(), kPatience);
    while (ok_ && in_order < messages_.size()) {
      in_order += order.next(std::chrono::milliseconds(200)).has_value() ? 1 : 0;
      mind();
      if (Clock::now() > deadline)
        return finding(fmt::format("{} of {} documents are signed\n{}", in_order, messages_.size(), said()));
    }
    LogFollower follower(bootstrap_, index_.options().kafka.index_log);
    const bool done = follower.await(setup_.end_of_order(), std::chrono::seconds(90), [this] {
      mind();
      return !ok_;
    });
    if (ok_ && !done) finding("not all is decided:\n" + said());
  }

  // A resolver that was replaced is about to end, and is started again afterwards.
  Process* only_one_that_decides() {
    const auto deadline = after(Clock::now(), kPatience);
    while (ok_) {
      std::vector<Process*> deciding = all_of(ClusterRole::resolver);
      std::erase_if(deciding, [](Process* p) { return !serves(*p) || p->daemon->await_exit(Seconds(0)); });
      if (deciding.size() == 1) return deciding.front();
      if (Clock::now() > deadline)
        finding(fmt::format("{} processes decide at the end:\n{}", deciding.size(), said()));
      watch_until(after(Clock::now(), 0.05));
    }
    return nullptr;
  }

  // Matchers end last: when they start again, they read the log to its end.
  void end() {
    Process* const decides = only_one_that_decides();
    if (decides == nullptr) return;
    index_.set({{"state.directory", index_.path(decides->name)}});
    for (const ClusterRole role : {ClusterRole::signer, ClusterRole::resolver, ClusterRole::matcher})
      end(role);
    for (Process* p : all_of(ClusterRole::matcher)) start(*p);
    for (Process* p : all_of(ClusterRole::matcher))
      if (!p->daemon->await_line("ready")) return finding("a matcher does not start: " + p->daemon->said());
    end(ClusterRole::matcher);
  }

  void end(ClusterRole role) {
    for (Process* p : all_of(role)) p->daemon->terminate();
    for (Process* p : all_of(role))
      if (ok_) expect_end(*p);
  }

  void compare() {
    const auto begin = Clock::now();
    for (const std::string& wrong : setup_.check_order(messages_.size())) finding("order: " + wrong);
    const PublicationDifference published = setup_.compare_with_alone(index_);
    if (!published.none()) finding(published.text());
    const std::string rebuilt = index_.compare_with_rebuilt();
    if (!rebuilt.empty()) finding(rebuilt);
    const StateContent resolver = index_.read_directory(index_.state());
    for (Process* p : all_of(ClusterRole::matcher)) {
      const std::string wrong =
          difference_of_matcher(index_.read_directory(index_.path(p->name), p->shards), p->shards, resolver);
      if (!wrong.empty()) finding(wrong);
    }
    const std::lock_guard lock(totals_.mutex);
    totals_.documents += messages_.size();
    totals_.lost += published.lost;
    totals_.doubled += published.doubled;
    totals_.changed += published.changed;
    if (plan_.verbose)
      std::cout << fmt::format(
                       "round {}{}: {} documents, {} events, {} originals live, {} matchers; {} processes "
                       "ended by themselves; compared in {:.1f} s\n",
                       number_, broker_ ? ", its own broker" : "", messages_.size(),
                       setup_.alone().events.size(), resolver.rows.size(),
                       all_of(ClusterRole::matcher).size(), restarts_, Seconds(Clock::now() - begin).count())
                << std::flush;
  }

  const Plan& plan_;
  Totals& totals_;
  int number_;
  ClusterSchedule schedule_;
  std::unique_ptr<Broker> broker_;
  std::string bootstrap_;
  ClusterSetup setup_;
  IndexSetup index_;
  Client client_;
  std::vector<Message> messages_;
  std::optional<Reader> events_;
  std::vector<std::unique_ptr<Process>> processes_;
  size_t produced_ = 0, expected_ = 0, read_ = 0, restarts_ = 0;
  int made_ = 0;
  bool four_ = false, broker_was_away_ = false, ok_ = true;
  std::string doing_;
};

}  // namespace

void run_cluster_faults(const Plan& plan, Totals& totals, int number) {
  run_round<ClusterRound>(plan, totals, number);
}

}  // namespace doppel::testing
