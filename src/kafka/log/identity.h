#pragma once
// Finds out which index a log holds.

#include <optional>
#include <string>

#include "kafka/log_reader.h"
#include "state/index_log.h"

namespace doppel {

struct LogIdentity {
  std::optional<LogEpoch> epoch;  // nullopt: no index was begun in the log
  int64_t offset = -1;            // offset of the epoch's record
  uint64_t records_read = 0;      // how many records it took to find it
  bool strange = false;           // the log holds records that no index log has before its epoch
  std::string rule;               // the rule that the index was made with; empty: unknown
};

struct LogName {
  const std::string& cluster;
  const std::string& topic;
};

// Reads the log from its beginning until the identity is known. That takes few records, except in a rebuilt
// log. If the last commit in the state directory names the offset of the epoch's record, it reads only that
// record.
absl::StatusOr<LogIdentity> find_identity(kafka::LogReader& log, const kafka::Watermarks& bounds,
                                          const LogName& name, const std::string& state_directory);

// InvalidArgument: the state directory holds an index of another cluster or another log, and this log holds
// none. Call it before topics are created.
absl::Status refuse_state_of_another_log(kafka::Cluster& cluster, const LogName& name,
                                         const std::string& state_directory);

}  // namespace doppel
