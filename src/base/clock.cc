#include "base/clock.h"

#include <thread>

namespace doppel {
namespace {

Clock::Source* installed = nullptr;

}  // namespace

void Clock::install(Source* source) { installed = source; }

Clock::time_point Clock::now() {
  return installed != nullptr ? installed->now() : std::chrono::steady_clock::now();
}

void Clock::sleep(std::chrono::milliseconds duration) {
  if (installed != nullptr)
    installed->sleep(duration);
  else
    std::this_thread::sleep_for(duration);
}

int64_t Clock::unix_ms() {
  using std::chrono::duration_cast, std::chrono::milliseconds, std::chrono::system_clock;
  return installed != nullptr ? installed->unix_ms()
                              : duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

}  // namespace doppel
