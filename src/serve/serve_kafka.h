#pragma once
// The daemon on Kafka: documents in, events out, the index in memory, all of it exactly once.

#include <functional>

#include "absl/status/statusor.h"
#include "config/config.h"

namespace doppel {

// Returns when `stop` says so (then everything up to here is committed and the state directory is
// checkpointed), or with what must stop the process. Aborted: another process has taken over the index.
// `ending` is told of that before anything is taken down.
absl::Status serve_kafka(const Config& config, const std::function<bool()>& stop,
                         const std::function<void(const absl::Status&)>& ending);

}  // namespace doppel
