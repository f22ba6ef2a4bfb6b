#pragma once
// Transactions of producers in the input that are neither committed nor aborted: readers of committed records
// see nothing behind their first record, of other producers either, and the lag is 0.

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "kafka/cluster.h"

namespace doppel::kafka {

struct OpenTransaction {
  Place place;
  int64_t offset = 0;     // of its first record, or of the first of several
  int64_t since_ms = -1;  // this record's timestamp; -1: unknown
  int64_t behind = 0;     // records that wait: its own, and those of other producers

  // "a transaction of a producer is open since TIME at t/p offset N; ...".
  std::string text() const;
};

// Looks for the first open transaction of a partition.
absl::StatusOr<std::optional<OpenTransaction>> open_transaction(Cluster& cluster, const Place& place);

// Finds the partitions that an open transaction holds up for long.
class HeldUp {
 public:
  // Those that are held up at the same offset for 30 s now. Names each one once, and again every 10 minutes.
  std::vector<Place> look(const ConsumerStatistics& now, Clock::time_point at);

 private:
  struct Since {
    int64_t offset = 0;
    Clock::time_point since;
    std::optional<Clock::time_point> said;
  };
  std::map<Place, Since> held_;
};

}  // namespace doppel::kafka
