#pragma once
// The daemon on Kafka: documents in, events out, the index in memory, all of it exactly once.

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
  // Called with the error before the parts of the run end.
  std::function<void(const absl::Status&)> ending = [](const absl::Status&) {};
  // Reading, commits and checkpoints happen on the caller's thread, one after the other: for simulations.
  bool step_by_step = false;
  bool real = false;  // a cluster that can refuse us: asked first whether it does
  std::string owner;  // our unique name in the index log; empty: one is made up
};

// Returns when `stop` says so (then everything up to here is committed and the state directory is
// checkpointed), or with what must stop the process. Aborted: another process has taken over the index.
// InvalidArgument, NotFound: the configuration is wrong; never after the start.
absl::Status serve_kafka(const Config& config, kafka::Cluster& cluster, const ServeKafka& how);

}  // namespace doppel
