#pragma once
// A signer: one of the processes of an index on many machines. It shares the partitions of the input with the
// other signers, and writes signed records into cluster.order. It keeps nothing, and whatever stops it
// changes no verdict.

#include <functional>

#include "config/config.h"
#include "kafka/cluster.h"

namespace doppel {

// Returns when stop() says so, or something fails that must stop the process.
absl::Status serve_signer(const Config& config, kafka::Cluster& cluster, const std::function<bool()>& stop);

}  // namespace doppel
