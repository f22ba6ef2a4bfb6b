#pragma once
// A signer, one of the processes of an index on many machines. It shares the partitions of the input with the
// other signers and writes signed records to cluster.order. It keeps no state, and no failure of it changes a
// verdict.

#include <functional>

#include "config/config.h"
#include "kafka/cluster.h"

namespace doppel {

// Returns when stop() returns true, or with the error that must stop the process.
absl::Status serve_signer(const Config& config, kafka::Cluster& cluster, const std::function<bool()>& stop);

}  // namespace doppel
