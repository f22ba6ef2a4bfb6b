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

// Told from time to time, on the thread that restores.
using TellProgress = std::function<void(const RestoreProgress&)>;

}  // namespace doppel
