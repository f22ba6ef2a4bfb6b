#pragma once
// A lost index log, published again from an intact state directory.

#include <functional>

#include "absl/status/status.h"
#include "config/config.h"

namespace doppel {

// Interrupted, the same call goes on behind the last representative that the log holds.
absl::Status log_from_state(const Config& config, const std::function<bool()>& stop);

}  // namespace doppel
