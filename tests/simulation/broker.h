#pragma once
// A Kafka cluster in memory, as far as doppel can see one: partitions with records that are open, committed
// or aborted; producers with epochs; commits whose marks come late or never. It decides nothing by itself:
// what goes wrong is set from outside.

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
using kafka::Place;

struct StoredRecord {
  enum class State { open, committed, aborted };
  int64_t offset = 0;
  int64_t timestamp_ms = 0;
  std::optional<std::string> key, value;
  std::vector<std::pair<std::string, std::optional<std::string>>> headers;
  State state = State::committed;
  std::string transactional_id;  // whose mark decides it, while it is open
  bool forgotten = false;        // it was committed, and its mark is missing
  size_t bytes() const;
};

struct Partition {
  std::vector<StoredRecord> records;  // ascending; markers and what was compacted leave gaps
  int64_t low = 0, end = 0;
  // The end of what readers see: before the first record that is open.
  int64_t stable_end() const;
};

// How the marks of a transaction reach a partition.
enum class Marks { at_once, late, never };

class Broker {
 public:
  struct Topic {
    std::vector<Partition> partitions;
    std::map<std::string, std::string> configs;
    bool hidden = false;
  };
  std::map<std::string, Topic> topics;

  Partition* find(const Place& place);

  // ---- one producer after the other under an id, each of a process (`life`)
  // Ends what is open, and gives the next epoch.
  //
  // docs/adr/0017 names what nobody can repair. A process that is killed, or replaced, after an abort of its
  // own took a forgotten commit along, before it has sent that again: these records are counted as `lost`.
  // One whose open transaction somebody else aborts, with a forgotten commit before it in the same partition:
  // this is not simulated, the forgotten commit is found marked then, and counted as `excused`.
  int32_t init(const std::string& id, int life);
  bool fenced(const std::string& id, int32_t epoch) const;
  // Stores an open record; -1: the topic takes no record of this size.
  int64_t produce(const std::string& id, const Place& place, StoredRecord record);
  void end(const std::string& id, bool commit, const std::function<Marks(const Place&)>& marks);
  // When the open transaction is aborted, its marks are forgotten.
  void forget_abort(const std::string& id) { transactions_[id].forget_abort = true; }
  // The transaction took too long: it is aborted, and its producer fenced.
  void time_out(const std::string& id);
  // Marks that are late come now.
  void mark_late();

  // The member of the group that has the index, as the coordinator knows it.
  struct Seat {
    std::string member;
    Clock::time_point heard{};
  };
  Seat seat;
  std::vector<Seat> members;  // in the order in which they came

  void append(const Place& place, StoredRecord record);  // committed at once
  // Of records under the same key only the last one stays, as far as readers see.
  void compact(const std::string& topic);

  // ---- what it did, for those who look for it
  struct Did {
    uint64_t commits = 0, records = 0, forgotten = 0, excused = 0, lost = 0;
  };
  Did did;

 private:
  struct Transaction {
    int32_t epoch = 0;
    int life = -1;
    std::set<Place> places;
    bool forget_abort = false;
    std::vector<std::pair<Place, int64_t>> taken_along;  // forgotten commits that this process has aborted
  };
  struct Late {
    std::string id;
    Place place;
    bool commit = false;
  };
  void mark(const std::string& id, const Place& place, bool commit);
  void excuse(const std::string& id, const Place& place);

  std::map<std::string, Transaction> transactions_;
  std::vector<Late> late_;
};

}  // namespace doppel::simulation
