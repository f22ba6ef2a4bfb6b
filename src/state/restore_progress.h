#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace doppel {

// Progress of restoring an index. total is 0 if unknown.
struct RestoreProgress {
  std::string phase;  // "loading the snapshot"
  uint64_t done = 0, total = 0;
};

// The phase of a daemon that waits to take over and follows the log.
inline constexpr const char* kStandingBy = "standing by";

// Called from time to time on the thread that restores.
using ReportProgress = std::function<void(const RestoreProgress&)>;

}  // namespace doppel
