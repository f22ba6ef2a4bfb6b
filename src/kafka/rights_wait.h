#pragma once
// A right that was withdrawn while doppel runs: it is said once, and every half minute, until it is there
// again.

#include <functional>
#include <optional>

#include "absl/status/status.h"
#include "base/clock.h"

namespace doppel::kafka {

class RightsWait {
 public:
  // PermissionDenied: which rights are missing, a line for each. Asks the brokers.
  using Missing = std::function<absl::Status()>;
  explicit RightsWait(Missing missing) : missing_(std::move(missing)) {}

  // Whether it is to be waited at all.
  bool waits() const { return missing_ != nullptr; }
  // Waits until nothing is known to be missing any more, or for half a minute where nothing is known.
  // `denied`: what the brokers said. Cancelled: `stop` says so.
  absl::Status wait(const absl::Status& denied, const std::function<bool()>& stop);

  // The same for one who must not wait: says what is due. False: nothing is known to be missing any more.
  bool still(const absl::Status& denied);

 private:
  void say(const absl::Status& what);

  Missing missing_;
  std::optional<Clock::time_point> said_;
};

}  // namespace doppel::kafka
