#pragma once
// The part of librdkafka's periodic statistics of a consumer that doppel uses.

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace doppel::kafka {

struct ConsumerStatistics {
  struct Partition {
    std::string topic;
    int32_t partition = 0;
    int64_t end = -1;      // of what is committed; -1: not known yet
    int64_t fetched = -1;  // offset that is asked for next: behind markers that are no records
    int64_t taken = -1;    // offset behind the last record that was handed over; -1: none was
    uint64_t queued = 0, queued_bytes = 0;
    bool fetching = false;  // false: the library waits for a leader or an offset
  };
  struct Broker {
    int32_t id = 0;
    bool up = false;
    double throttled_s = 0;  // average since the last time: its quotas made us wait
  };
  std::vector<Partition> partitions;
  std::vector<Broker> brokers;
  uint64_t rebalances = 0;  // of the group; partitions are assigned by us, so this stays
  uint64_t received_bytes = 0, received_records = 0;
  uint64_t request_errors = 0, request_timeouts = 0, disconnects = 0;
  uint64_t queued_bytes() const;
};

// False: it is not what it should be; `out` is as it was.
bool parse_statistics(std::string_view json, ConsumerStatistics& out);

// The latest ones: written by the thread that reads, looked at by any other.
class LatestStatistics {
 public:
  void take(std::string_view json);
  // Records were handed over. The library's own position also counts markers at the end of a partition.
  void handed_over(const std::string& topic, int32_t partition, int64_t next);
  ConsumerStatistics get() const;

  // How to ask for the end of a partition as far as it is known now: the statistics are as old as the last
  // call of the one who reads. Until this returns with an empty function, the one before may be called.
  using Ends = std::function<int64_t(const std::string& topic, int32_t partition)>;
  void ask_ends(Ends ends);

 private:
  mutable std::mutex mutex_;
  ConsumerStatistics latest_;
  std::map<std::pair<std::string, int32_t>, int64_t> handed_over_;
  Ends ends_;
};

}  // namespace doppel::kafka
