#include "status/originals_wanted.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/status.h"

namespace doppel {
namespace {

bool has_tag(std::string_view tags, std::string_view wanted) {
  while (!tags.empty()) {
    const size_t end = std::min(tags.find('\n'), tags.size());
    if (tags.substr(0, end) == wanted) return true;
    tags.remove_prefix(std::min(end + 1, tags.size()));
  }
  return false;
}

constexpr std::array<std::string_view, 4> kNames = {"id", "event_id", "any_id", "tag"};  // as By

}  // namespace

absl::StatusOr<OriginalsWanted> OriginalsWanted::parse(std::string_view line) {
  const size_t equals = line.find('=');
  const auto name = std::find(kNames.begin(), kNames.end(), line.substr(0, equals));
  const bool known = equals != std::string_view::npos && name != kNames.end() && equals + 1 < line.size();
  if (!known || (*name == "tag" && line.find('=', equals + 1) == std::string_view::npos))
    return invalid("a request is one line: id=ID, event_id=ID or tag=NAME=VALUE");
  return OriginalsWanted(static_cast<By>(name - kNames.begin()), line.substr(equals + 1));
}

std::string OriginalsWanted::line() const {
  return std::string(kNames[static_cast<size_t>(by_)]) + "=" + value_;
}

bool OriginalsWanted::fits(const Metadata& m) const {
  switch (by_) {
    case By::id:
      return m.name() == value_;
    case By::event_id:
      return m.event_id() == value_;
    case By::any_id:
      return m.name() == value_ || m.event_id() == value_;
    case By::tag:
      return has_tag(m.tags, value_);
  }
  return false;
}

}  // namespace doppel
