#pragma once
// What a server has answered, and what it holds at present, for its metrics. The requests of probes (/live,
// /ready, /metrics) are not counted: they come every few seconds, whether somebody uses the server or not.

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace doppel::http {

struct Counts {
  // Upper bounds of the times, in seconds. There is one more bucket, for longer ones.
  static constexpr std::array<double, 12> kTimes{.0003, .001, .003, .01, .03, .1, .3, 1, 3, 10, 30, 60};

  std::map<int, uint64_t> responses;  // by status
  // How long the requests took from the end of their head to the response.
  std::array<uint64_t, kTimes.size() + 1> times{};
  double seconds = 0;  // their sum
  uint64_t connections = 0;
  uint64_t waiting = 0;  // requests that are complete and have no response yet
  uint64_t body_bytes = 0, body_bytes_most = 0;
};

// Any thread may call.
class Counter {
 public:
  void responded(int status, double seconds) {
    size_t bucket = 0;
    while (bucket < Counts::kTimes.size() && seconds > Counts::kTimes[bucket]) ++bucket;
    const std::lock_guard lock(mutex_);
    ++counts_.responses[status];
    ++counts_.times[bucket];
    counts_.seconds += seconds;
  }
  void connected(int more) {
    const std::lock_guard lock(mutex_);
    counts_.connections += static_cast<uint64_t>(more);  // wraps for less
  }
  void waits(int more) {
    const std::lock_guard lock(mutex_);
    counts_.waiting += static_cast<uint64_t>(more);
  }
  Counts now() const {
    const std::lock_guard lock(mutex_);
    return counts_;
  }

 private:
  mutable std::mutex mutex_;
  Counts counts_;
};

}  // namespace doppel::http
