#pragma once
// What a log must hold so that this configuration can continue it, and how a new log begins.

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
  std::optional<std::string> rebuilt_from;  // it is a rebuild, of this
  bool read_only = false;                   // it is not written to
  bool may_be_empty = false;                // although it is only read
  int64_t begins = 0;                       // its first offset
};

// The message of a refusal says what differs, and what to do.
absl::Status check_log(const WantedLog& wanted, const LogIdentity& found);

// Rebuilds of the same documents under the same settings have the same epoch; any other index has its own.
absl::StatusOr<LogEpoch> new_epoch(const WantedLog& wanted, const HashKey& key);

// A process's name in the log, unique; its last part is the member (serve only).
std::string make_owner_name(const std::string& member = "");

}  // namespace doppel
