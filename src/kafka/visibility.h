#pragma once
// Finds out what readers with isolation.level=read_committed see of the topics that we write.
//
// A broker answers a commit first and writes the transaction's markers to the partitions afterwards. If it
// fails in between it may never write them (docs/adr/0017): then the records *hang*. The next commit of the
// same transactional id in their partition makes them visible, and its next abort there discards them.

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "kafka/cluster.h"
#include "kafka/outbox.h"

namespace doppel::kafka {

// Markers normally follow the end of their transaction within milliseconds.
inline constexpr std::chrono::milliseconds kMarking(2'000);
inline constexpr std::chrono::milliseconds kDropping(10'000);
inline constexpr std::chrono::milliseconds kStep(20);  // pause between two polls

inline constexpr std::chrono::milliseconds kAskAgain(200);  // pause before asking a silent broker again

// Joins the places: "topic/0 topic/1".
std::string text_of(const std::vector<TopicPartition>& places);

// A partition that the broker does not know is Unavailable here, not NotFound: we wrote to it, so it existed.
class Visibility {
 public:
  // The topic `compacted` need only keep the last record of each key.
  explicit Visibility(Cluster& cluster, std::string compacted = {})
      : cluster_(cluster), compacted_(std::move(compacted)) {}

  // Where the partition ends for readers, and where it ends with all stored records.
  absl::StatusOr<int64_t> seen_to(const TopicPartition& where);
  absl::StatusOr<int64_t> stored_to(const TopicPartition& where);

  // Returns the partitions of these topics whose stored records do not all become visible within `patience`:
  // the records hang, or another producer's transaction is open. Call it while no transaction of ours is
  // open.
  absl::StatusOr<std::vector<TopicPartition>> hanging(const std::set<std::string>& topics,
                                                      std::chrono::milliseconds patience);

  // The last offset that was written under each key.
  using LastOfKeys = std::map<std::string, int64_t, std::less<>>;
  // Whether readers see one of these offsets (ascending), or would if it had not been deleted since. A later
  // record under one of `keys` counts, too, because compaction may have removed ours in its favour.
  absl::StatusOr<bool> sees(const TopicPartition& where, const std::vector<int64_t>& offsets,
                            const LastOfKeys& keys = {});
  // Sets `seen` of each message whose offset is known. Returns whether all messages are seen.
  absl::StatusOr<bool> look_up(Outbox& outbox);

 private:
  absl::StatusOr<int64_t> end_of(const TopicPartition& where, Isolation isolation);

  Cluster& cluster_;
  std::string compacted_;
};

// Transactions of producers in the input that are neither committed nor aborted: readers of committed records
// see nothing behind their first record, of other producers either, and the lag is 0.
struct OpenTransaction {
  TopicPartition place;
  int64_t offset = 0;     // of its first record, or of the first of several
  int64_t since_ms = -1;  // this record's timestamp; -1: unknown
  int64_t behind = 0;     // records that wait: its own, and those of other producers

  // "a transaction of a producer is open since TIME at t/p offset N; ...".
  std::string text() const;
};

// Looks for the first open transaction of a partition.
absl::StatusOr<std::optional<OpenTransaction>> open_transaction(Cluster& cluster,
                                                                const TopicPartition& place);

// Finds the partitions that an open transaction holds up for long.
class HeldUp {
 public:
  // Those that are held up at the same offset for 30 s now. Names each one once, and again every 10 minutes.
  std::vector<TopicPartition> look(const ConsumerStatistics& now, Clock::time_point at);

 private:
  struct Since {
    int64_t offset = 0;
    Clock::time_point since;
    std::optional<Clock::time_point> named;
  };
  std::map<TopicPartition, Since> held_;
};

}  // namespace doppel::kafka
