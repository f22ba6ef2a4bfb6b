#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace doppel {

// How far an index is restored: what is done, and of how much (0: not known).
struct RestoreProgress {
  std::string phase;  // "loading the snapshot"
  uint64_t done = 0, total = 0;
};

// The phase of a daemon that waits for its turn, and follows the log meanwhile.
inline constexpr const char* kStandingBy = "standing by";

// Called from time to time, on the thread that restores.
using ReportProgress = std::function<void(const RestoreProgress&)>;

}  // namespace doppel
