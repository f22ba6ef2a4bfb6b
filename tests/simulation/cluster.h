#pragma once
// The virtual broker as one process of doppel sees it: calls take turns, and a list of faults says what goes
// wrong at which call.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simulation/broker.h"
#include "simulation/scheduler.h"

namespace doppel::simulation {

enum class Fault {
  kill,            // the process ends, as by SIGKILL
  kill_midway,     // the same, after the broker has stored a part of the next records
  pause,           // pauses for `ms`, as by SIGSTOP; a transaction may time out meanwhile
  refuse,          // the call fails at once and does nothing
  lose_answer,     // the call does its work, but its answer is lost
  lose_commit,     // the next commit gets no answer; bit 0: it does its work; 1: the process ends soon
  storm,           // each of the next commits takes two bits: 1, 3 forget_marks, 2 lose_commit
  broker_away,     // no call is answered for `ms`
  forget_marks,    // the broker dies with the next commit: markers are missing where bit n of `bits` is set
  late_marks,      // the markers of the next commit come later
  implied,         // the next records are acknowledged, although the leader never stored the first of them
  hide_topic,      // the input is invisible for `ms`
  compact,         // the index log is compacted
  smaller_events,  // the events' topic accepts only smaller records from now on
  recreate_topic,  // the input is deleted, created again and filled
  lose_tail,       // the broker dies and has lost the last records of a partition of the input
};
constexpr int kFaults = 16;
const char* fault_name(Fault fault);

struct Event {
  int life = 0;
  int call = 0;  // number of calls in this life, including kill points
  Fault fault{};
  int64_t ms = 0;
  uint32_t bits = 0;
};
std::string text_of(const Event& event);

// The state that the processes of a run share.
struct World {
  explicit World(uint64_t seed) : scheduler(seed) {}
  Scheduler scheduler;
  Broker broker;
  Clock::time_point away_until{}, hidden_until{};
  // Some consumers of a topic that is created again learn that it is gone, and ask once more half a second
  // later.
  std::function<void(uint32_t bits)> recreate_topic, lose_tail;
  Clock::time_point asked_again{};
  std::string input, events;  // topics
  std::string index_log;
  std::string cluster = "simulated";  // its id
  bool reports_ids = true;            // of topics
  std::string stale_id;               // the input's, until `stale_until`
  Clock::time_point stale_until{};
  int64_t transaction_timeout_ms = 10'000;
  uint64_t calls = 0, calls_max = 200'000, records_max = 20'000;
  bool forgets_aborts = false;
  bool exhausted = false;  // more calls or records than any run needs: something loops
  bool tracing = false;    // prints every call
};

class LifeCluster : public kafka::Cluster {
 public:
  LifeCluster(World& world, int life, std::vector<Event> events)
      : world_(world), life_(life), faults_(std::move(events)) {}

  absl::StatusOr<std::string> id() override;
  absl::StatusOr<std::vector<kafka::TopicPartitions>> topics() override;
  absl::Status create_topic(const kafka::TopicSpec& spec) override;
  absl::StatusOr<std::vector<std::string>> topic_configs(const std::string& topic,
                                                         const std::vector<std::string>& names) override;
  absl::StatusOr<std::vector<std::string>> topic_ids(const std::vector<std::string>& topics) override;
  absl::StatusOr<kafka::Watermarks> watermarks(const TopicPartition& place, Isolation isolation) override;
  absl::StatusOr<int64_t> offset_at(const TopicPartition& place, int64_t timestamp_ms) override;
  absl::StatusOr<std::unique_ptr<kafka::TransactionalProducer>> producer(
      const kafka::TransactionalOptions& options) override;
  absl::StatusOr<std::unique_ptr<kafka::Consumer>> consumer(const kafka::ConsumerOptions& options) override;

  absl::StatusOr<std::unique_ptr<kafka::Membership>> join(const kafka::MembershipOptions& options) override;

  // Every call passes here first: others may run, and due faults happen. `answer_lost`: the call does its
  // work, and fails.
  struct Entry {
    absl::Status status;
    bool answer_lost = false;
  };
  Entry enter(const char* call);
  void at_kill_point();
  void die_midway();
  void next_of_storm();
  void kill_within(int calls);

  World& world() { return world_; }
  int task = -1;        // of the scheduler
  std::string open_id;  // the transactional id that this process uses
  int32_t open_epoch = 0;
  bool trouble = false;       // a connection broke
  bool trouble_next = false;  // one broke, and the client sees it with its next call
  uint32_t forget_bits = 0;
  bool late = false;
  int implied = 0;
  std::optional<uint32_t> lose_commit;  // `bits` of the fault, for the next commit
  uint32_t storm = 0;                   // the fates of the next commits
  int midway = 0;                       // the process ends when this many records are stored
  int calls() const { return calls_; }
  int number() const { return life_; }

 private:
  void faults_due(bool& refuse, bool& lose);

  World& world_;
  int life_;
  int calls_ = 0;
  std::vector<Event> faults_;
};

}  // namespace doppel::simulation
