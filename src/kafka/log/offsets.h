#pragma once
// Where an index continues to read its input, changed from outside the stream: `doppel offsets`. The change
// is a progress record in the index log, in its place in the order.

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "kafka/cluster.h"
#include "kafka/log/chosen_offsets.h"
#include "state/kafka_position.h"

namespace doppel {

// "set documents/0=1200 documents/1=end", or "forget documents": one line.
struct OffsetsWanted {
  std::vector<ChosenOffset> set;
  std::string forget;  // a topic; empty: none

  static absl::StatusOr<OffsetsWanted> parse(std::string_view line);
};

struct OffsetChange {
  LogProgress before, after;
  // "documents/0: 1200 -> 1500 (300 records are skipped)"
  std::string text() const;
};

// What they change. InvalidArgument: the index has not read such a topic, or it has no such offset.
absl::StatusOr<std::vector<OffsetChange>> plan_offsets(const OffsetsWanted& wanted,
                                                       const kafka::KafkaPosition& position,
                                                       kafka::Cluster& cluster);

}  // namespace doppel
