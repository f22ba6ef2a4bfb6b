#pragma once
// Offsets that a person chooses for the input, as TOPIC/PARTITION=WHERE. WHERE is an offset, "beginning",
// "end" or a time.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "kafka/cluster.h"

namespace doppel {

struct ChosenOffset {
  enum class At { offset, beginning, end, time, end_at };
  kafka::Place place;
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

}  // namespace doppel
