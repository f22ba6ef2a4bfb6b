#pragma once
// Which index a log holds.

#include <optional>
#include <string>

#include "kafka/log_reader.h"
#include "state/index_log.h"

namespace doppel {

struct LogIdentity {
  std::optional<LogEpoch> epoch;  // none: no index was begun in it
  int64_t offset = -1;            // of the epoch's record
  uint64_t records_read = 0;      // to find it
  bool strange = false;           // it holds records that no index log has before its epoch
  std::string rule;               // that the index was made with; empty: not known
};

struct LogName {
  const std::string& cluster;
  const std::string& topic;
};

// Read from the beginning of the log until it is known, which is soon but for a log that was rebuilt. The
// last commit of a state directory of the same index may name the record's place: then that alone is read.
absl::StatusOr<LogIdentity> find_identity(kafka::LogReader& log, const kafka::Watermarks& bounds,
                                          const LogName& name, const std::string& state_directory);

// InvalidArgument: the state directory holds an index of another cluster or another log, and there is none in
// this one. Asked before topics are made.
absl::Status refuse_state_of_another_log(kafka::Cluster& cluster, const LogName& name,
                                         const std::string& state_directory);

}  // namespace doppel
