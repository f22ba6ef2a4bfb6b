#pragma once
// Publishes a lost index log again from an intact state directory.

#include <string>

#include "absl/status/status.h"
#include "config/config.h"
#include "kafka/topics/plan.h"

namespace doppel {

// After an interruption the same call continues behind the last original in the log. `offsets` is as in
// RebuildOptions. Without it a state directory of another cluster is refused before anything is created.
// `how` controls waiting for the cluster.
absl::Status log_from_state(const Config& config, kafka::Cluster& cluster, const std::string& offsets,
                            PlanOptions how);

}  // namespace doppel
