#pragma once
// The daemon on Kafka: it reads documents, holds the index in memory and writes events, all of it exactly
// once.

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "config/config.h"

namespace doppel {

namespace kafka {
class Cluster;
}

struct ServeKafka {
  std::function<bool()> stop = [] { return false; };
  // Called with the error of a failed run before its parts are destroyed, which may take long.
  std::function<void(const absl::Status&)> ending = [](const absl::Status&) {};
  // For simulations: reading, commits and checkpoints happen on the caller's thread, one after the other.
  bool step_by_step = false;
  bool real = false;  // a real cluster: first check that it accepts us and which rights we have
  std::string owner;  // our unique name in the index log; empty: generate one
};

// Returns when `stop` returns true, after everything was committed and the state directory was checkpointed,
// or with the error that must stop the process. Aborted: another process has taken over the index.
// InvalidArgument, NotFound: the configuration is wrong; these only occur at the start.
absl::Status serve_kafka(const Config& config, kafka::Cluster& cluster, const ServeKafka& how);

}  // namespace doppel
