#include "base/notify.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

namespace doppel::notify {
namespace {

std::mutex mutex;  // guards supervisor()

Supervisor& supervisor() {
  static Supervisor of_environment = Supervisor::from_environment();
  return of_environment;
}

void send(std::string_view message) {
  const std::lock_guard lock(mutex);
  supervisor().send(message);
}

uint64_t number(const char* text) {
  uint64_t value = 0;
  if (text != nullptr) std::from_chars(text, text + std::strlen(text), value);
  return value;
}

std::string status_line(std::string_view text) {
  std::string line = "STATUS=";
  line += text;
  std::replace(line.begin(), line.end(), '\n', ' ');  // a line end would start another assignment
  return line;
}

}  // namespace

Supervisor::Supervisor(std::string_view socket, uint64_t watchdog_us) : interval_us_(watchdog_us / 4) {
  if (socket.size() < 2 || socket.size() >= sizeof(sockaddr_un::sun_path)) return;
  if (socket[0] != '/' && socket[0] != '@') return;
  address_ = socket;
  if (address_[0] == '@') address_[0] = '\0';
  socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

Supervisor Supervisor::from_environment() {
  const char* socket = std::getenv("NOTIFY_SOCKET");
  const char* pid = std::getenv("WATCHDOG_PID");
  const bool watched = pid == nullptr || number(pid) == static_cast<uint64_t>(::getpid());
  Supervisor out(socket != nullptr ? socket : "", watched ? number(std::getenv("WATCHDOG_USEC")) : 0);
  for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC"}) ::unsetenv(name);
  return out;
}

Supervisor::~Supervisor() {
  if (socket_ >= 0) ::close(socket_);
}

Supervisor::Supervisor(Supervisor&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)),
      address_(std::move(other.address_)),
      interval_us_(other.interval_us_),
      due_us_(other.due_us_) {}

void Supervisor::send(std::string_view message) const {
  if (socket_ < 0) return;
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  std::memcpy(to.sun_path, address_.data(), address_.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size());
  (void)::sendto(socket_, message.data(), message.size(), MSG_NOSIGNAL,
                 reinterpret_cast<const sockaddr*>(&to), length);
}

bool Supervisor::alive_is_due(uint64_t now_us) {
  if (socket_ < 0 || interval_us_ == 0 || now_us < due_us_) return false;
  due_us_ = now_us + interval_us_;
  return true;
}

void ready() { send("READY=1\nSTATUS=ready"); }
void status(std::string_view text) { send(status_line(text)); }
void stopping() { send("STOPPING=1\nSTATUS=stopping"); }
void still_starting(std::string_view text) { send(status_line(text) + "\nEXTEND_TIMEOUT_USEC=120000000"); }

void alive() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  const std::lock_guard lock(mutex);
  if (supervisor().alive_is_due(
          static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(now).count()))) {
    supervisor().send("WATCHDOG=1");
  }
}

}  // namespace doppel::notify
