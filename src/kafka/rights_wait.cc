#include "kafka/rights_wait.h"

#include <chrono>

#include "base/log.h"
#include "base/status.h"

namespace doppel::kafka {
namespace {

constexpr std::chrono::seconds kSayAgain(30), kLook(2);

}  // namespace

void RightsWait::say(const absl::Status& what) {
  const auto now = Clock::now();
  if (logged_ && now - *logged_ < kSayAgain) return;
  logged_ = now;
  log::error("a right is missing; waiting for it", {{"says", std_sv(what.message())}});
}

absl::Status RightsWait::wait(const absl::Status& denied, const std::function<bool()>& stop) {
  const auto begin = Clock::now();
  auto looked = begin - kLook;
  bool known = false;  // the brokers said which right is missing
  while (!stop()) {
    if (Clock::now() - looked >= kLook) {
      const absl::Status missing = missing_();
      looked = Clock::now();
      if (absl::IsPermissionDenied(missing)) {
        known = true;
        say(missing);
      } else if (known || looked - begin >= kSayAgain) {
        if (known) log::info("no right is missing any more");
        if (known) logged_.reset();
        return absl::OkStatus();
      } else {
        say(denied);
      }
    }
    Clock::sleep(std::chrono::milliseconds(100));
  }
  return absl::CancelledError("stopped while a right was missing: " + std::string(denied.message()));
}

bool RightsWait::still(const absl::Status& denied) {
  if (logged_ && Clock::now() - *logged_ < kSayAgain) return true;
  const absl::Status missing = missing_();
  if (!absl::IsPermissionDenied(missing) && logged_) {
    logged_.reset();
    return false;
  }
  say(absl::IsPermissionDenied(missing) ? missing : denied);
  return true;
}

}  // namespace doppel::kafka
