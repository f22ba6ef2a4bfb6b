#pragma once
// Where the input is to continue, as a person says it: TOPIC/PARTITION=WHERE, where WHERE is an offset,
// "beginning", "end", or a time.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "kafka/cluster.h"

namespace doppel {

struct ChosenOffset {
  enum class At { offset, beginning, end, time };
  kafka::Place place;
  At at = At::offset;
  int64_t value = 0;  // an offset, or milliseconds since 1970
};

absl::StatusOr<ChosenOffset> parse_chosen_offset(std::string_view text);

// One in each line; lines that begin with # say nothing. An error names file and line.
absl::StatusOr<std::vector<ChosenOffset>> read_chosen_offsets(const std::string& path);

// The offset in the partition as it is now: of a time, the first record that is not older, or the end. An
// offset must be one that the partition has, or its end.
absl::StatusOr<int64_t> offset_of(const ChosenOffset& chosen, kafka::Cluster& cluster);

}  // namespace doppel
