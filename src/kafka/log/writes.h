#pragma once
// What a process writes to the log of its index beside batches.

#include <string>
#include <vector>

#include "kafka/log/kafka_index.h"

namespace doppel {

// Afterwards `index` has a transactor, and nobody else writes to the log. The position says how far the log
// was read; it decides what happens to hanging records.
absl::Status claim_log(const KafkaIndexOptions& options, KafkaIndex& index);

// Writes a rule that was accepted by name: the log continues under it.
absl::Status write_rule(KafkaIndex& index, const std::string& rule);
// Writes where the input begins.
absl::Status write_progress(KafkaIndex& index, const std::vector<LogProgress>& progress);
// Begins the decisions of a resolver: other processes answer in its generation from here on.
absl::Status write_generation(KafkaIndex& index, const std::string& generation);
// Says that this process has ended, so that a standby need not wait until it counts as dead. Its last call.
absl::Status release_log(KafkaIndex& index);
// Ends a rebuild: writes where the input continues, and that the log is complete, in one transaction.
absl::Status complete_rebuild(KafkaIndex& index, const std::vector<LogProgress>& progress);

}  // namespace doppel
