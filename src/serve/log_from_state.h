#pragma once
// A lost index log, published again from an intact state directory.

#include <functional>

#include "absl/status/status.h"
#include "config/config.h"

namespace doppel {

namespace kafka {
class Cluster;
}

// After an interruption the same call continues behind the last original in the log.
absl::Status log_from_state(const Config& config, kafka::Cluster& cluster, const std::function<bool()>& stop);

}  // namespace doppel
