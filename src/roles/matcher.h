#pragma once
// A matcher, one of the processes of an index on many machines. It keeps the originals of its shards in
// memory and in its state directory, follows the index log and the order of documents, and answers which of
// its originals each document resembles. It decides nothing, so no failure of it changes a verdict.

#include <functional>

#include "config/config.h"
#include "kafka/cluster.h"

namespace doppel {

// Returns when stop() returns true, or with the error that must stop the process.
absl::Status serve_matcher(const Config& config, kafka::Cluster& cluster, const std::function<bool()>& stop);

}  // namespace doppel
