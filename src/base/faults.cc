#include "base/faults.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdlib>

namespace doppel {

KillPoints::KillPoints(std::string_view spec) {
  while (!spec.empty()) {
    const std::string_view one = spec.substr(0, spec.find(','));
    spec.remove_prefix(std::min(spec.size(), one.size() + 1));
    const size_t colon = one.rfind(':');
    if (colon == std::string_view::npos || colon == 0) continue;
    uint64_t count = 0;
    const char* end = one.data() + one.size();
    const auto [stopped, error] = std::from_chars(one.data() + colon + 1, end, count);
    if (error == std::errc() && stopped == end && count > 0)
      points_.emplace_back(one.substr(0, colon), count);
  }
}

bool KillPoints::pass(std::string_view name) {
  bool die = false;
  for (Point& point : points_) {
    if (point.name == name && point.left.fetch_sub(1) == 1) die = true;
  }
  return die;
}

namespace kill_point_internal {
namespace {

const char* spec() {
  const char* value = std::getenv("DOPPEL_KILL_AT");
  return value != nullptr ? value : "";
}

std::function<void(std::string_view)> instead;

}  // namespace

bool armed = *spec() != '\0';

void pass(std::string_view name) {
  if (instead) return instead(name);
  static KillPoints points(spec());
  if (points.pass(name)) ::kill(::getpid(), SIGKILL);
}

}  // namespace kill_point_internal

void on_kill_points(std::function<void(std::string_view name)> function) {
  kill_point_internal::instead = std::move(function);
  kill_point_internal::armed = true;
}

}  // namespace doppel
