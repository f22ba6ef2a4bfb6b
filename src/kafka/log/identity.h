#pragma once
// Finds out which index a log holds, checks whether this configuration can continue it, and begins a new one.

#include <optional>
#include <string>

#include "kafka/log_reader.h"
#include "state/index_log.h"
#include "text/hash_key.h"

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

struct WantedLog {
  std::string name, cluster;
  std::string data_scheme, rule;
  uint32_t num_perm = 0, mask_words = 0;
  std::optional<std::string> rebuilt_from;  // set for a rebuild: its inputs
  bool read_only = false;                   // we do not write to the log
  bool may_be_empty = false;                // with read_only: the log need not hold an index
  int64_t begins = 0;                       // the log's first offset
};

// The error says what differs and what to do.
absl::Status check_log(const WantedLog& wanted, const LogIdentity& found);

// Rebuilds of the same documents under the same settings get the same epoch; every other index gets its own.
absl::StatusOr<LogEpoch> new_epoch(const WantedLog& wanted, const HashKey& key);

// Makes a unique name for this process in the log. The member, if there is one (serve only), is its last
// part.
std::string make_owner_name(const std::string& member = "");

}  // namespace doppel
