// One index whose input topic is deleted and created again, and whose offsets are moved, while the daemon
// runs, stands still, is stopped or is killed. Some producers use transactions and abort them. Every record
// of every topic of that name must be judged as many times as the index log says, and none may be confused
// with a record of another topic.

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <future>
#include <random>
#include <set>
#include <thread>

#include "kafka/crash/plan.h"
#include "kafka/index_setup.h"
#include "kafka/workload.h"
#include "state/state_dir.h"

namespace doppel::testing {
namespace {

constexpr std::chrono::seconds kPatience(90);
constexpr int64_t kHourMs = 3'600'000;
constexpr int kTransactionMs = 60'000;

class RecreationRound {
 public:
  RecreationRound(const Plan& plan, Totals& totals, int number)
      : plan_(plan),
        totals_(totals),
        number_(number),
        random_(plan.seed * 1'000'003 + static_cast<uint64_t>(number)),
        setup_(plan.bootstrap,
               {{"kafka.properties.topic.metadata.refresh.interval.ms", below(2) == 0 ? "200" : "2000"}},
               kPartitions),
        client_(plan.bootstrap),
        transactional_(plan.bootstrap, {{"transactional.id", fmt::format("{}-producer", setup_.input())}}) {
    check(rd_kafka_init_transactions(transactional_.handle(), kTransactionMs));
  }

  void run() {
    begin_topic(50 + below(250));
    daemon_ = setup_.serve();
    await_read();
    for (int i = 0; i < plan_.recreations_per_round && ok_ && !enough(); ++i) {
      recreate();
      if (ok_) move();
    }
    doing_ = "the end";
    if (!ok_) return;
    stop();
    if (ok_) compare();
  }

  void finding(const std::string& text) {
    ok_ = false;
    totals_.finding(fmt::format("round {}, topic {}, {}: {}", number_, topics_.size(), doing_, text));
  }

 private:
  static constexpr int kPartitions = 3;
  // The state of the daemon while the topic is away, or its offsets are moved.
  enum class State { runs, killed, stopped, paused };

  uint64_t below(uint64_t n) { return random_() % n; }

  bool enough() {
    const std::lock_guard lock(totals_.mutex);
    return totals_.recreations >= plan_.recreations || Clock::now() > plan_.deadline;
  }

  // Produces other documents than before, some of them copies of each other.
  void begin_topic(size_t documents) {
    const auto n = static_cast<int64_t>(topics_.size());
    topics_.push_back(
        make_workload({.seed = random_(),
                       .documents = 1'000,
                       .topics = setup_.inputs(),
                       .partitions = kPartitions,
                       // Some topics are loaded again by event time.
                       .first_ms = 1'700'000'000'000 + (below(2) == 0 ? n : 0) * 1000 * kHourMs}));
    produced_ = 0;
    produce_next(documents);
  }
  void produce_next(size_t count) {
    const size_t end = std::min(produced_ + count, topics_.back().size());
    const size_t how = below(4);
    if (how == 0) abort_some();
    if (how <= 1) {
      begin_transaction();
      produce(transactional_, topics_.back(), produced_, end);
      check(rd_kafka_commit_transaction(transactional_.handle(), kTransactionMs));
    } else {
      produce(client_, topics_.back(), produced_, end);
    }
    produced_ = end;
  }
  // Records that nobody may judge, and a marker behind them, at the end of each partition.
  void abort_some() {
    begin_transaction();
    for (int32_t partition = 0; partition < kPartitions; ++partition) {
      transactional_.produce(setup_.input(), Message{.value = R"({"text": "nobody may see this text"})",
                                                     .partition = partition});
    }
    check(rd_kafka_abort_transaction(transactional_.handle(), kTransactionMs));
  }
  void begin_transaction() { check(rd_kafka_begin_transaction(transactional_.handle())); }
  static void check(rd_kafka_error_t* error) {
    if (error == nullptr) return;
    const std::string text = rd_kafka_error_string(error);
    rd_kafka_error_destroy(error);
    throw KafkaError("a transaction of the producer: " + text);
  }

  // The topic's name in events and in the index log.
  std::string name_of(size_t topic) const {
    return topic == 0 ? setup_.input() : fmt::format("{}@{}", setup_.input(), topic + 1);
  }

  void await_read() {
    Offsets ends;
    for (const auto& [place, end] : ends_of(topics_.back(), produced_))
      ends[{name_of(topics_.size() - 1), place.second}] = end;
    LogFollower log(plan_.bootstrap, setup_.options().kafka.index_log);
    const bool read =
        log.await(ends, kPatience, [&] { return daemon_->await_exit(Daemon::Seconds(0)).has_value(); });
    if (!read) finding("not all is judged:\n" + daemon_->said());
  }

  void recreate() {
    const auto state = static_cast<State>(below(4));
    const double away_s = below(3) == 0 ? 0 : static_cast<double>(below(7'000)) / 1e3;
    const size_t read = produced_;
    const size_t kind = below(3);
    const size_t next = kind == 0 ? 20 + below(read) : kind == 1 ? read : read + 50 + below(300);
    doing_ = fmt::format("{}, away for {:.1f} s, {} documents after {}", name_of(state), away_s, next, read);
    if (below(2) == 0) produce_next(40);  // read in part, or not at all
    before(state);
    topics_.back().resize(produced_);
    client_.delete_topic(setup_.input());
    std::this_thread::sleep_for(Seconds(away_s));
    client_.create_topic(setup_.input(), kPartitions);
    begin_topic(std::min<size_t>(next, 800));
    after(state);
    await_read();
    const std::lock_guard lock(totals_.mutex);
    ++totals_.recreations;
    if (plan_.verbose) std::cout << fmt::format("round {}: {}\n", number_, doing_) << std::flush;
  }

  // Moves one partition with `doppel offsets set`. A daemon that is killed meanwhile carries out the request
  // at its next start.
  void move() {
    const auto state = static_cast<State>(below(4));
    const auto partition = static_cast<int32_t>(below(kPartitions));
    const auto end = static_cast<uint64_t>(ends_of(topics_.back(), produced_)[{setup_.input(), partition}]);
    const size_t kind = below(3);
    const std::string to = kind == 0 ? "beginning" : kind == 1 ? "end" : fmt::format("{}", below(end + 1));
    const std::string command = fmt::format("offsets set {}/{}={} --yes", setup_.input(), partition, to);
    doing_ = fmt::format("{}, {}", name_of(state), command);
    if (state == State::paused) daemon_->signal(SIGSTOP);
    if (state == State::stopped) stop();
    if (below(2) == 0) produce_next(30);  // some may be skipped
    std::future<Ran> asked = std::async(std::launch::async, [&] { return setup_.run(command); });
    if (state == State::killed || state == State::paused)
      std::this_thread::sleep_for(std::chrono::milliseconds(below(400)));
    if (state == State::killed) daemon_->kill();
    if (state == State::stopped) asked.wait();
    after(state);
    const Ran said = asked.get();
    if (said.code != 0)
      return finding(fmt::format("exit {}: {}{}\n{}", said.code, said.out, said.err, daemon_->said()));
    produce_next(30 + below(30));
    await_read();
    const std::lock_guard lock(totals_.mutex);
    ++totals_.moves;
    if (plan_.verbose) std::cout << fmt::format("round {}: {}\n", number_, doing_) << std::flush;
  }

  static const char* name_of(State state) {
    return state == State::runs     ? "it runs"
           : state == State::killed ? "it was killed"
           : state == State::paused ? "it stands still"
                                    : "it was stopped";
  }
  void before(State state) {
    if (state == State::killed) daemon_->kill();
    if (state == State::paused) {
      daemon_->signal(SIGSTOP);
      // Answers its open request, so that it does not learn that the topic is gone.
      if (below(2) == 0) produce_next(3);
    }
    if (state == State::stopped) stop();
  }
  void after(State state) {
    if (state == State::paused) daemon_->signal(SIGCONT);
    if (state == State::killed || state == State::stopped) daemon_ = setup_.serve();
  }
  void stop() {
    if (!daemon_->await_line("ready") && !daemon_->await_exit(Daemon::Seconds(0)))
      return finding("it is not ready: " + daemon_->said());
    daemon_->terminate();
    const std::optional<int> code = daemon_->await_exit();
    if (code != 0) finding(fmt::format("SIGTERM: exit {}: {}", code.value_or(-1), daemon_->said()));
  }

  void compare() {
    std::vector<std::string> names;
    for (size_t i = 0; i < topics_.size(); ++i) names.push_back(name_of(i));
    const auto read = [&](const std::string& topic) {
      const auto known = std::find(names.begin(), names.end(), topic);
      if (known == names.end()) return read_all(plan_.bootstrap, topic);
      std::vector<Message> messages = topics_[static_cast<size_t>(known - names.begin())];
      if (known + 1 == names.end()) messages.resize(produced_);
      for (Message& m : messages) m.topic = topic;
      return messages;
    };
    const Verification result =
        verify_topics(read, setup_.options(), *parse_hash_key(kHashKey), names, counted_as_the_same());
    for (const std::string& f : result.findings) finding(f);
    const std::string difference = setup_.compare_with_rebuilt();
    if (!difference.empty()) finding(difference);
    const std::lock_guard lock(totals_.mutex);
    totals_.documents += result.documents;
  }

  // Without ids, a commit that comes after a topic was created again makes it look like the one before. Then
  // documents that are the same at the same places are skipped; here there are none.
  std::set<std::string> counted_as_the_same() const {
    std::set<std::string> out;
    for (const Message& m : read_all(plan_.bootstrap, setup_.options().kafka.index_log)) {
      const auto record = parse_log_record(m.key.value_or(""), m.value ? std::string_view(*m.value) : "",
                                           m.value.has_value());
      const auto* p = record.ok() ? std::get_if<LogProgress>(&*record) : nullptr;
      if (p != nullptr && p->moved > 0) out.insert(topic_of(*p));
    }
    return out;
  }

  const Plan& plan_;
  Totals& totals_;
  int number_;
  std::mt19937_64 random_;
  IndexSetup setup_;
  Client client_, transactional_;
  std::vector<std::vector<Message>> topics_;  // the records produced to each topic of the name
  size_t produced_ = 0;                       // of the last one
  std::unique_ptr<Daemon> daemon_;
  bool ok_ = true;
  std::string doing_ = "the beginning";
};

}  // namespace

void run_recreations(const Plan& plan, Totals& totals, int number) {
  run_round<RecreationRound>(plan, totals, number);
}

}  // namespace doppel::testing
