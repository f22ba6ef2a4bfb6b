#pragma once
// Changes where an index continues to read its input (`doppel offsets`). The change is a progress record in
// the index log, ordered with all other records.

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "kafka/cluster.h"
#include "kafka/log/chosen_offsets.h"
#include "kafka/topics.h"
#include "state/index_log.h"

namespace doppel {

// A request in one line: "set documents/0=1200 documents/1=end" or "forget documents".
struct OffsetsWanted {
  std::vector<ChosenOffset> set;
  std::string forget;  // a topic; empty: none

  static absl::StatusOr<OffsetsWanted> parse(std::string_view line);
  std::string line() const;
};

struct OffsetChange {
  LogProgress before, after;
  bool any() const {
    return after.forgotten || after.next != before.next || after.incarnation != before.incarnation;
  }
  // Such as "documents/0: 1200 -> 1500 (300 records are skipped)".
  std::string text() const;
};

// Returns the changes that a request makes. If a partition no longer holds the record that was read last, the
// brokers have lost records, so the same offset may be another record: the topic's partitions get the next
// incarnation. InvalidArgument: the index has not read such a topic or partition, or the partition has no
// such offset, or the topic to forget is one of `inputs`.
absl::StatusOr<std::vector<OffsetChange>> plan_offsets(const OffsetsWanted& wanted,
                                                       const kafka::KafkaPosition& position,
                                                       const kafka::Inputs& inputs, kafka::Cluster& cluster);

}  // namespace doppel
