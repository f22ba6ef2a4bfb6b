#pragma once
// What a snapshot of an index in Kafka says about its place in the log: stored as the source position of the
// state directory's commits.

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "state/index_log.h"

namespace doppel::kafka {

struct KafkaPosition {
  std::string cluster;
  std::string index_log;
  int64_t log_offset = 0;     // everything before it is covered
  int64_t covered_ms = 0;     // by the clock of the machine: nothing else was in the log at this time
  int64_t epoch_offset = -1;  // of the record that says which index this is, complete; -1: not known
  LogExpire expire;
  LogCut cut;         // of an index on many machines; without a generation: none
  std::string owner;  // of the last claim, as its record says it; empty: not known
  std::map<std::pair<std::string, int32_t>, LogProgress> progress;

  std::vector<LogProgress> progress_list() const;
};

std::string encode_position(const KafkaPosition& position);
absl::StatusOr<KafkaPosition> decode_position(std::string_view bytes);
// Whether these bytes are a position of this kind (and not one of files).
bool is_kafka_position(std::string_view bytes);

}  // namespace doppel::kafka
