#pragma once
// What a command's exit code says; scripts may rely on it. Where nobody reads stdout any more, a command ends
// by SIGPIPE (141 in a shell), but `serve`: with 3.

#include "base/check.h"

namespace doppel {

inline constexpr int kExitDone = 0;
inline constexpr int kExitSomeFailed =
    1;                                // done, but some records were rejected or some inputs could not be read
inline constexpr int kExitUsage = 2;  // wrong usage or configuration; nothing was done
inline constexpr int kExitStopped = 3;  // stopped by an error: a full disk, a damaged state
inline constexpr int kExitBroken =
    kBrokenExitCode;                          // an invariant was broken; nothing was written after that
inline constexpr int kExitReplaced = 75;      // another process has taken over; do not start this one again
inline constexpr int kExitInterrupted = 130;  // interrupted; what was written is consistent

}  // namespace doppel
