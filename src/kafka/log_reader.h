#pragma once
// Reads an index log, or any other partition, up to an end that the caller asked for before. It compares
// positions, not offsets of records, because commit markers and compaction leave gaps.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "kafka/cluster.h"

namespace doppel::kafka {

struct LogMessage {  // views are valid during the call of Visit
  std::string_view key, value;
  bool has_key = true, has_value = true;
  int64_t offset = 0;
  int64_t timestamp_ms = 0;
  std::span<const Header> headers;  // empty unless read() was called with `with_headers`
};

class LogReader {
 public:
  // `cluster` outlives the reader. Several readers may read one partition in parallel.
  static absl::StatusOr<LogReader> open(Cluster& cluster, const TopicPartition& place,
                                        Isolation isolation = Isolation::committed);

  // A second reader for the same partition, which may be used in parallel.
  absl::StatusOr<LogReader> again() const { return open(*cluster_, place_, isolation_); }

  // The first offset and the end of what can be read. The end of an index log is final only after a claim
  // (docs/adr/0018): before it, the owner may continue to write.
  absl::StatusOr<Watermarks> bounds() { return cluster_->watermarks(place_, isolation_); }

  // Calls `visit` with every record in [from, to), in order. An error of `visit` ends the call and is
  // returned. May be called repeatedly. Unavailable: no record came for a minute. OutOfRange: `from` does not
  // exist.
  using Visit = std::function<absl::Status(const LogMessage&)>;
  absl::Status read(int64_t from, int64_t to, const Visit& visit, bool with_headers = false);

 private:
  LogReader(Cluster& cluster, TopicPartition place, Isolation isolation, std::unique_ptr<Consumer> consumer)
      : cluster_(&cluster), place_(std::move(place)), isolation_(isolation), consumer_(std::move(consumer)) {}

  Cluster* cluster_;
  TopicPartition place_;
  Isolation isolation_;
  std::unique_ptr<Consumer> consumer_;
};

}  // namespace doppel::kafka
