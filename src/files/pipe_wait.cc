#include "files/pipe_wait.h"

#include <poll.h>

#include <algorithm>

namespace doppel {
namespace {

constexpr auto kPatience = std::chrono::milliseconds(20);
constexpr int kAskAgainMs = 100;

}  // namespace

PipeWait::Answer PipeWait::ask(bool batch_empty) {
  pollfd waiting{fd_, POLLIN, 0};
  if (batch_empty) {
    while (::poll(&waiting, 1, kAskAgainMs) <= 0) {
      if (options_.stop()) return Answer::stopped;
    }
    return Answer::read;
  }
  const auto now = std::chrono::steady_clock::now();
  if (!patient_) {
    patient_ = true;
    patience_ = now + kPatience;
  }
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(patience_ - now).count();
  return ::poll(&waiting, 1, static_cast<int>(std::max<int64_t>(left, 0))) != 0 ? Answer::read
                                                                                : Answer::deliver;
}

}  // namespace doppel
