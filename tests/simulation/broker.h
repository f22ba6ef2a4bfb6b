#pragma once
// A Kafka cluster in memory, as far as doppel can see one: partitions with open, committed and aborted
// records; producers with epochs; commits whose markers come late or never. It decides nothing by itself: the
// caller sets the faults.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "kafka/cluster.h"

namespace doppel::simulation {

using kafka::Isolation;
using kafka::TopicPartition;

struct StoredRecord {
  enum class State { open, committed, aborted };
  int64_t offset = 0;
  int64_t timestamp_ms = 0;
  std::optional<std::string> key, value;
  std::vector<std::pair<std::string, std::optional<std::string>>> headers;
  State state = State::committed;
  std::string transactional_id;  // the id whose marker decides the record, while it is open
  bool forgotten = false;        // it was committed, but its marker is missing
  size_t bytes() const;
};

struct Partition {
  std::vector<StoredRecord> records;  // ascending; markers and compacted records leave gaps
  int64_t low = 0, end = 0;
  // The end of the records that readers see: the first open record.
  int64_t stable_end() const;
};

// How the markers of a transaction reach a partition.
enum class Marks { at_once, late, never };

class Broker {
 public:
  struct Topic {
    std::vector<Partition> partitions;
    std::map<std::string, std::string> configs;
    bool hidden = false;
    std::string id = {};                               // see id_of()
    std::map<int32_t, kafka::GroupOffset> group = {};  // the offsets of doppel's group, by partition
  };
  std::map<std::string, Topic> topics;
  std::string index_log;
  // A topic gets its id with the first question.
  const std::string& id_of(Topic& topic);
  // Deletes the topic and creates it again.
  void recreate(const std::string& topic, size_t partitions);
  // The brokers lose the last `count` records of a partition, or all: what was stored last, without fsync.
  void lose_tail(const TopicPartition& place, size_t count);

  Partition* find(const TopicPartition& place);

  // ---- one producer after the other under an id, each of a process (`life`)
  // Ends the open transaction and returns the next epoch.
  //
  // docs/adr/0017 names the losses that nobody can repair. First: the abort of a process discards a forgotten
  // commit, and the process is killed or replaced before it has sent these records once more. They are
  // counted as `lost`. Second: another process, or the time-out, aborts the open transaction of a process
  // while a forgotten commit precedes it in the same partition, and the next start cannot find out what was
  // committed. This is not simulated: the forgotten commit then gets its marker, and is counted as `excused`.
  int32_t init(const std::string& id, int life);
  bool fenced(const std::string& id, int32_t epoch) const;
  // Stores an open record; -1: the topic does not accept a record of this size.
  int64_t produce(const std::string& id, const TopicPartition& place, StoredRecord record);
  void end(const std::string& id, bool commit, const std::function<Marks(const TopicPartition&)>& marks);
  // Forgets the markers when the open transaction is aborted.
  void forget_abort(const std::string& id) { transactions_[id].forget_abort = true; }
  // The transaction took too long: aborts it, and fences its producer.
  void time_out(const std::string& id);
  // Writes the late markers.
  void mark_late();

  // A member of the group, as the coordinator knows it.
  struct Seat {
    std::string member;
    Clock::time_point heard{};
  };
  Seat seat;
  std::vector<Seat> members;  // in the order in which they joined

  void append(const TopicPartition& place, StoredRecord record);  // committed at once
  // Of records with the same key, keeps only the last one that readers see.
  void compact(const std::string& topic);

  // ---- counts for checks
  struct Did {
    uint64_t commits = 0, records = 0, forgotten = 0, excused = 0, lost = 0;
  };
  Did did;

 private:
  struct Transaction {
    int32_t epoch = 0;
    int life = -1;
    std::set<TopicPartition> places;
    bool forget_abort = false;
    std::vector<std::pair<TopicPartition, int64_t>>
        taken_along;  // forgotten commits that this process has aborted
  };
  struct Late {
    std::string id;
    TopicPartition place;
    bool commit = false;
  };
  void mark(const std::string& id, const TopicPartition& place, bool commit);
  bool all_named(const std::string& id) const;
  void excuse(const std::string& id, const TopicPartition& place);

  int ids_ = 0;
  std::map<std::string, Transaction> transactions_;
  std::vector<Late> late_;
};

}  // namespace doppel::simulation
