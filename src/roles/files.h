#pragma once
// The daemon without Kafka: files are followed, events are written to a file, and the state directory holds
// both together, so that file to file is exactly once whatever stops the process.

#include <functional>

#include "absl/status/status.h"
#include "config/config.h"

namespace doppel {

// Returns when `stop` says so or the input has ended (stdin); then everything up to here is committed and
// checkpointed. InvalidArgument, NotFound: the configuration cannot work, nothing was done. Any other error
// has stopped the stream; what is committed stays, and a new start goes on behind it.
absl::Status serve_files(const Config& config, const std::function<bool()>& stop);

}  // namespace doppel
