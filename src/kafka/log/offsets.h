#pragma once
// Changes where an index continues to read its input (`doppel offsets`). The change is a progress record in
// the index log, ordered with all other records.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "kafka/cluster.h"
#include "kafka/topics.h"
#include "state/index_log.h"

namespace doppel {

// Offsets that a person chooses for the input, as TOPIC/PARTITION=WHERE. WHERE is an offset, "beginning",
// "end" or a time.
struct ChosenOffset {
  enum class At { offset, beginning, end, time, end_at };
  kafka::TopicPartition place;
  At at = At::offset;
  int64_t value = 0;  // an offset, or milliseconds since 1970; end_at: the end when a person chose it
  std::string text() const;
};

// An end may be fixed: "documents/0=end@1200" is the end that the partition had, where records that came
// since are not skipped.
absl::StatusOr<ChosenOffset> parse_chosen_offset(std::string_view text);

// Reads a file with one choice in each line. Skips empty lines and lines that begin with #. The error names
// file and line.
absl::StatusOr<std::vector<ChosenOffset>> read_chosen_offsets(const std::string& path);

// Fixes what would mean another place later: an end, or a time.
absl::StatusOr<ChosenOffset> fixed(const ChosenOffset& chosen, kafka::Cluster& cluster);

// Resolves the choice in the partition as it is now. A time means the first record that is not older, or the
// end. A fixed end that was read past already means `next`, unless the partition ends before.
// InvalidArgument: the partition does not have the chosen offset, and it is not its end.
absl::StatusOr<int64_t> offset_of(const ChosenOffset& chosen, kafka::Cluster& cluster, int64_t next = 0);

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
