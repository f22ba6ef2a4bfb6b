#pragma once
// The part of librdkafka's periodic consumer statistics that doppel uses.

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
    int64_t end = -1;      // the end of committed records; -1: not known yet
    int64_t stable = -1;   // where the first open transaction begins, or `written`; as of the last fetch
    int64_t written = -1;  // the end of all records; likewise
    int64_t fetched = -1;  // the offset to fetch next; unlike `taken` it lies behind transaction markers
    int64_t taken = -1;    // the offset behind the last record handed to the pipeline; -1: none
    uint64_t queued = 0, queued_bytes = 0;
    bool fetching = false;  // false: the library waits for a leader or an offset
  };
  struct Broker {
    int32_t id = 0;
    bool up = false;
    double throttled_s = 0;  // average delay by the broker's quotas since the last statistics
  };
  std::vector<Partition> partitions;
  std::map<std::string, uint32_t> incarnations;  // by topic
  std::vector<Broker> brokers;
  uint64_t rebalances = 0;  // of the group; constant, because doppel assigns partitions itself
  uint64_t received_bytes = 0, received_records = 0;
  uint64_t request_errors = 0, request_timeouts = 0, disconnects = 0;
  uint64_t queued_bytes() const;
};

// Returns false and leaves `out` unchanged if `json` is malformed.
bool parse_statistics(std::string_view json, ConsumerStatistics& out);

// The latest statistics of a consumer. The thread that polls the consumer writes them; any thread may read.
class LatestStatistics {
 public:
  void take(std::string_view json);
  // Sets Partition::taken. The library's own position also counts markers at the end of a partition.
  void handed_over(const std::string& topic, int32_t partition, int64_t next);
  void incarnation(const std::string& topic, uint32_t number);
  ConsumerStatistics get() const;

  // Sets a function that returns the cached end of a partition. get() calls it on its own thread, because the
  // statistics are only as fresh as the last poll. The previous function is not called after ask_ends()
  // returns.
  using Ends = std::function<int64_t(const std::string& topic, int32_t partition)>;
  void ask_ends(Ends ends);

 private:
  mutable std::mutex mutex_;
  ConsumerStatistics latest_;
  std::map<std::pair<std::string, int32_t>, int64_t> handed_over_;
  std::map<std::string, uint32_t> incarnations_;
  Ends ends_;
};

}  // namespace doppel::kafka
