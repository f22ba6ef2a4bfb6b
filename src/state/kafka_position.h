#pragma once
// The position of a snapshot in its index log. Commits of the state directory store it as their source
// position.

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
  int64_t covered_ms = 0;     // machine's clock: the log had nothing more at this time
  int64_t epoch_offset = -1;  // of the record that identifies the complete index; -1: unknown
  LogExpire expire;
  LogCut cut;         // of an index on several machines; no generation: none
  std::string owner;  // of the last claim, as in its record; empty: unknown
  std::map<std::pair<std::string, int32_t>, LogProgress> progress;

  std::vector<LogProgress> progress_list() const;
};

std::string encode_position(const KafkaPosition& position);
absl::StatusOr<KafkaPosition> decode_position(std::string_view bytes);
// Whether the bytes are a Kafka position, not one of files.
bool is_kafka_position(std::string_view bytes);

}  // namespace doppel::kafka
