#pragma once
// Exit codes of the commands; scripts may rely on them. If the reader of stdout is gone, a command ends by
// SIGPIPE (141 in a shell), but `serve` ends with 3.

#include "base/check.h"

namespace doppel {

inline constexpr int kExitDone = 0;
inline constexpr int kExitSomeFailed = 1;  // done, but records were rejected or inputs could not be read
inline constexpr int kExitUsage = 2;       // wrong usage or configuration; nothing was done
inline constexpr int kExitStopped = 3;     // stopped by an error, such as a full disk or a damaged state
inline constexpr int kExitBroken =
    kBrokenExitCode;                      // an invariant was broken; nothing was written after that
inline constexpr int kExitReplaced = 75;  // another process has taken over the index; a new start stands by
inline constexpr int kExitInterrupted = 130;  // interrupted; what was written is consistent

}  // namespace doppel
