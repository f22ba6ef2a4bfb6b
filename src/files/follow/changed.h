#pragma once
// When a file was last changed.

#include <sys/stat.h>

#include <chrono>
#include <ctime>

namespace doppel {

inline bool same_time(const timespec& a, const timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

// Negative if the file's clock is ahead of ours.
inline std::chrono::nanoseconds since_change(const struct stat& info) {
  timespec now = {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return std::chrono::seconds(now.tv_sec - info.st_mtim.tv_sec) +
         std::chrono::nanoseconds(now.tv_nsec - info.st_mtim.tv_nsec);
}

}  // namespace doppel
