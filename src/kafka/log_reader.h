#pragma once
// Reads an index log, or any other partition, to an end that is asked for first. Positions are compared,
// never the offsets of records: commit markers and compaction leave gaps.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "kafka/cluster.h"

namespace doppel::kafka {

struct LogMessage {  // views are valid during the call
  std::string_view key, value;
  bool has_value = true;
  int64_t offset = 0;
  int64_t timestamp_ms = 0;
  std::span<const Header> headers;  // only where they were asked for
};

class LogReader {
 public:
  // `cluster` outlives the reader. Several readers may read one partition side by side.
  static absl::StatusOr<LogReader> open(Cluster& cluster, const Place& place,
                                        Isolation isolation = Isolation::committed);

  // Another one for the same partition, to be read beside this one.
  absl::StatusOr<LogReader> again() const { return open(*cluster_, place_, isolation_); }

  // The first offset there is and the end of what can be read. Of an index log, the end is final only behind
  // a claim (docs/adr/0018): until then its owner may go on writing.
  absl::StatusOr<Watermarks> bounds() { return cluster_->watermarks(place_, isolation_); }

  // Every record in [from, to), in order. `visit` may end it with an error. May be called again.
  using Visit = std::function<absl::Status(const LogMessage&)>;
  absl::Status read(int64_t from, int64_t to, const Visit& visit, bool with_headers = false);

 private:
  LogReader(Cluster& cluster, Place place, Isolation isolation, std::unique_ptr<Consumer> consumer)
      : cluster_(&cluster), place_(std::move(place)), isolation_(isolation), consumer_(std::move(consumer)) {}

  Cluster* cluster_;
  Place place_;
  Isolation isolation_;
  std::unique_ptr<Consumer> consumer_;
};

}  // namespace doppel::kafka
