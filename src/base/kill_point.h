#pragma once
// Named places at which the crash tests end the process, as a power cut would. DOPPEL_KILL_AT=NAME:COUNT
// makes the process send SIGKILL to itself at its COUNT-th pass through kill_point("NAME"); separate several
// by commas. Without the variable, a kill point costs one branch. A simulation installs its own function
// instead.

#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace doppel {

class KillPoints {
 public:
  // Ignores parts that are not NAME:COUNT with COUNT > 0.
  explicit KillPoints(std::string_view spec);
  // Counts a pass by any thread. Returns true if the process must die here.
  bool pass(std::string_view name);

 private:
  struct Point {
    std::string name;
    std::atomic<uint64_t> left;
    Point(std::string_view n, uint64_t count) : name(n), left(count) {}
    Point(Point&& other) noexcept : name(std::move(other.name)), left(other.left.load()) {}
  };
  std::vector<Point> points_;
};

namespace kill_point_internal {
extern bool armed;
void pass(std::string_view name);
}  // namespace kill_point_internal

// Calls `function` at every kill point instead. Call it before other threads start.
void on_kill_points(std::function<void(std::string_view name)> function);

inline void kill_point(std::string_view name) {
  if (kill_point_internal::armed) [[unlikely]]
    kill_point_internal::pass(name);
}

}  // namespace doppel
