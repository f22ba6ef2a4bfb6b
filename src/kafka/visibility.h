#pragma once
// What readers with isolation.level=read_committed see of the topics that we write.
//
// A broker answers a commit, and marks the transaction's records in their partitions after it. If it fails in
// between it may forget to (docs/adr/0017): then the records *hang*. They are seen with the next commit of
// the same transactional id in their partition, and lost with its next abort there.

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "kafka/cluster.h"
#include "kafka/outbox.h"

namespace doppel::kafka {

// Marks come within milliseconds of their transaction's end.
inline constexpr std::chrono::milliseconds kMarking(2'000);
inline constexpr std::chrono::milliseconds kDropping(10'000);
inline constexpr std::chrono::milliseconds kStep(20);  // between two looks

inline constexpr std::chrono::milliseconds kAskAgain(
    200);  // before a broker that does not answer is asked again

// "topic/0 topic/1".
std::string text_of(const std::vector<Place>& places);

// A partition that is not there is Unavailable: it was written to before.
class Visibility {
 public:
  // Of the topic `compacted` only the last record of each key has to stay.
  explicit Visibility(Cluster& cluster, std::string compacted = {})
      : cluster_(cluster), compacted_(std::move(compacted)) {}

  // The end of what is seen, and the end of all that is stored.
  absl::StatusOr<int64_t> seen_to(const Place& where);
  absl::StatusOr<int64_t> stored_to(const Place& where);

  // The partitions of these topics with records that are not seen, nor will be within `patience`: they hang,
  // or somebody else's transaction is open there. Ask while none of ours is.
  absl::StatusOr<std::vector<Place>> hanging(const std::set<std::string>& topics,
                                             std::chrono::milliseconds patience);

  // The last of the offsets that were written under each key.
  using LastOfKeys = std::map<std::string, int64_t, std::less<>>;
  // Whether a reader sees one of these offsets (ascending), or would if it had not been deleted since. With
  // `keys`, a later record under one of these counts, too: compaction may have removed ours for it.
  absl::StatusOr<bool> sees(const Place& where, const std::vector<int64_t>& offsets,
                            const LastOfKeys& keys = {});
  // Notes which of these messages are seen, as far as their place is known. True: all are.
  absl::StatusOr<bool> look_up(Outbox& outbox);

 private:
  absl::StatusOr<int64_t> end_of(const Place& where, Isolation isolation);

  Cluster& cluster_;
  std::string compacted_;
};

}  // namespace doppel::kafka
