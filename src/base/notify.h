#pragma once
// What the daemon reports to the supervisor that started it (systemd, Type=notify): that it is ready, what it
// is doing, that it is alive, that it ends. Datagrams to the socket named in NOTIFY_SOCKET, as sd_notify(3)
// describes them; without the variable every call does nothing. Any thread may call.

#include <cstdint>
#include <string>
#include <string_view>

namespace doppel::notify {

void ready();                        // READY=1; what status() said before goes away
void status(std::string_view text);  // STATUS=: one line for people
void stopping();                     // STOPPING=1
// The start takes longer than the supervisor expects, but moves: STATUS= and two more minutes.
void still_starting(std::string_view text);
// WATCHDOG=1, from the loop that must turn; sent as often as the supervisor's WATCHDOG_USEC needs it, so it
// may be called for each batch.
void alive();

// One supervisor. The functions above use that of the environment.
class Supervisor {
 public:
  // Empty: there is none. A path, or with @ in front a name without a file. `watchdog_us` 0: no watchdog.
  Supervisor(std::string_view socket, uint64_t watchdog_us);
  // NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID. They leave the environment: children are not us.
  static Supervisor from_environment();
  ~Supervisor();
  Supervisor(Supervisor&& other) noexcept;
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;
  Supervisor& operator=(Supervisor&&) = delete;

  // A supervisor that does not listen is not our problem: nothing waits, nothing fails.
  void send(std::string_view message) const;
  // True at most once in a quarter of the watchdog's time.
  bool alive_is_due(uint64_t now_us);

 private:
  int socket_ = -1;
  std::string address_;  // sun_path
  uint64_t interval_us_ = 0;
  uint64_t due_us_ = 0;
};

}  // namespace doppel::notify
