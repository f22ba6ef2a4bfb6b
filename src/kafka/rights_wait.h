#pragma once
// Waits for a right that was withdrawn while doppel runs. It logs the missing right at once and every half
// minute until the right is granted again.

#include <functional>
#include <optional>

#include "absl/status/status.h"
#include "base/clock.h"

namespace doppel::kafka {

class RightsWait {
 public:
  // Asks the brokers. PermissionDenied: rights are missing; the message has a line for each.
  using Missing = std::function<absl::Status()>;
  explicit RightsWait(Missing missing) : missing_(std::move(missing)) {}

  // False: a missing right is an error instead.
  bool waits() const { return missing_ != nullptr; }
  // Blocks until the missing rights are granted, or for half a minute if the brokers do not say which are
  // missing. `denied` is the brokers' refusal, which it logs in that case. Cancelled: `stop` returned true.
  absl::Status wait(const absl::Status& denied, const std::function<bool()>& stop);

  // Like wait(), but does not block: it logs if half a minute has passed. False: the rights are granted
  // again.
  bool still(const absl::Status& denied);

 private:
  void say(const absl::Status& what);

  Missing missing_;
  std::optional<Clock::time_point> logged_;
};

}  // namespace doppel::kafka
