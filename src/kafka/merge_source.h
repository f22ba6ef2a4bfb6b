#pragma once
// Reads topics from the beginning, for a rebuild. It merges the partitions: the next record is the partition
// head with the least (timestamp, topic, partition), up to ends that were frozen at the start. The order
// depends only on the contents of the topics, so two rebuilds with the same bounds give the same index.

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kafka/cluster.h"
#include "kafka/records.h"
#include "kafka/topics.h"
#include "pipeline/buffers.h"
#include "pipeline/stream.h"
#include "state/index_log.h"

namespace doppel::kafka {

// [begin, end) of one partition. The new index log keeps the bounds during the rebuild.
struct Bounds {
  std::string topic;
  int32_t partition = 0;
  int64_t begin = 0, end = 0;
};
std::string encode_bounds(const std::vector<Bounds>& bounds);
absl::StatusOr<std::vector<Bounds>> decode_bounds(std::string_view bytes);

// The bounds of the topics' present contents. They begin at an offset, or at the first record that is not
// older than `from_ms` if that is not negative.
absl::StatusOr<std::vector<Bounds>> freeze_bounds(Cluster& cluster, const Inputs& topics, int64_t from_offset,
                                                  int64_t from_ms);

struct MergeOptions {
  size_t batch_records = 1000;
  size_t batch_bytes = 12 << 20;
  std::function<bool()> stop = [] { return false; };
};

class MergeSource final : public Source {
 public:
  // Continues each partition at the offset that `progress` has for it.
  static absl::StatusOr<std::unique_ptr<MergeSource>> open(Cluster& cluster, const MergeOptions& options,
                                                           const std::vector<Bounds>& bounds,
                                                           const std::vector<LogProgress>& progress);
  ~MergeSource() override;

  absl::StatusOr<bool> next(Batch& batch) override;
  uint64_t bytes_total() const override { return records_total_; }  // counted in offsets
  uint64_t bytes_read() const override { return records_read_; }

 private:
  struct Partition {
    Bounds bounds;
    int64_t next = 0;
    uint32_t tag = 0;
    std::deque<Incoming> heads;
    bool done() const { return heads.empty() && next >= bounds.end; }
  };
  explicit MergeSource(MergeOptions options)
      : options_(std::move(options)), pool_(buffer_bytes(options_.batch_bytes)) {}
  absl::Status fetch(Partition& partition);

  MergeOptions options_;
  std::unique_ptr<Consumer> consumer_;
  std::vector<std::unique_ptr<Partition>> partitions_;
  std::vector<Incoming> chunk_;
  BufferPool pool_;
  uint64_t records_total_ = 0, records_read_ = 0;
};

}  // namespace doppel::kafka
