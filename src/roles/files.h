#pragma once
// The daemon without Kafka. It follows files and writes events to a file. The state directory records the
// positions of both, so that processing from file to file is exactly once, whatever stops the process.

#include <functional>

#include "absl/status/status.h"
#include "config/config.h"

namespace doppel {

// Returns when `stop` returns true or the input ends (stdin), after everything was committed and
// checkpointed. InvalidArgument, NotFound: the configuration is wrong, and nothing was done. Any other error
// has stopped the stream; a new start continues behind the last commit.
absl::Status serve_files(const Config& config, const std::function<bool()>& stop);

}  // namespace doppel
