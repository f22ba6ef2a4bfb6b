#pragma once
// Checks whether this configuration can continue a log, and begins a new one.

#include <optional>
#include <string>

#include "kafka/log/identity.h"
#include "state/index_log.h"
#include "text/hash_key.h"

namespace doppel {

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
