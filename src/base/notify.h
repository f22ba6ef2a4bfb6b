#pragma once
// Reports the daemon's state to the supervisor that started it (systemd, Type=notify): ready, busy, alive,
// stopping. Sends datagrams to the socket in NOTIFY_SOCKET, as in sd_notify(3); without the variable, no call
// has an effect. Any thread may call.

#include <cstdint>
#include <string>
#include <string_view>

namespace doppel::notify {

void ready();                        // READY=1; clears the status
void status(std::string_view text);  // STATUS=: one line for people
void stopping();                     // STOPPING=1
// The start takes longer than the supervisor expects, but makes progress: sends STATUS= and two more minutes.
void still_starting(std::string_view text);
// Sends WATCHDOG=1. The main loop calls it for each batch; it sends only as often as WATCHDOG_USEC requires.
void alive();

// One supervisor. The functions above use the one of the environment.
class Supervisor {
 public:
  // `socket` is a path, or an abstract name after @; "": no supervisor. `watchdog_us` 0: no watchdog.
  Supervisor(std::string_view socket, uint64_t watchdog_us);
  // Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID, and removes them from the environment, so that child
  // processes do not report as the daemon.
  static Supervisor from_environment();
  ~Supervisor();
  Supervisor(Supervisor&& other) noexcept;
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;
  Supervisor& operator=(Supervisor&&) = delete;

  // Neither waits nor fails: a supervisor that does not listen must not disturb the daemon.
  void send(std::string_view message) const;
  // Returns true at most once in a quarter of the watchdog's time.
  bool alive_is_due(uint64_t now_us);

 private:
  int socket_ = -1;
  std::string address_;  // sun_path
  uint64_t interval_us_ = 0;
  uint64_t due_us_ = 0;
};

}  // namespace doppel::notify
