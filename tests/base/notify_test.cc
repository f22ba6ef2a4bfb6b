#include "base/notify.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

namespace doppel::notify {
namespace {

// A supervisor's end of the socket, as systemd opens it.
class Listener {
 public:
  explicit Listener(std::string name) : name_(std::move(name)) {
    fd_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name_.data(), name_.size());
    if (name_[0] == '@') address.sun_path[0] = '\0';
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name_.size());
    EXPECT_EQ(::bind(fd_, reinterpret_cast<const sockaddr*>(&address), length), 0);
  }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener() {
    ::close(fd_);
    if (name_[0] == '/') ::unlink(name_.c_str());
  }
  std::string next() const {
    char text[512];
    const ssize_t size = ::recv(fd_, text, sizeof text, MSG_DONTWAIT);
    return size < 0 ? "" : std::string(text, static_cast<size_t>(size));
  }

 private:
  std::string name_;
  int fd_ = -1;
};

std::string unique_name(const std::string& begin) { return begin + std::to_string(::getpid()); }

TEST(Notify, TellsASocketInAFolderAndOneWithoutAFile) {
  for (const std::string& name :
       {std::filesystem::temp_directory_path().string() + unique_name("/notify-"), unique_name("@notify-")}) {
    const Listener listener(name);
    const Supervisor supervisor(name, 0);
    supervisor.send("READY=1");
    EXPECT_EQ(listener.next(), "READY=1") << name;
  }
}

TEST(Notify, NobodyListensAndNothingHappens) {
  Supervisor(unique_name("@nobody-"), 0).send("READY=1");
  Supervisor("", 0).send("READY=1");
  Supervisor("relative", 0).send("READY=1");
  Supervisor("/" + std::string(200, 'x'), 0).send("READY=1");
}

TEST(Notify, AliveIsDueFourTimesInTheWatchdogsTime) {
  const std::string name = unique_name("@alive-");
  const Listener listener(name);
  Supervisor watched(name, 1000);
  int due = 0;
  for (uint64_t now = 5000; now < 6000; ++now) due += watched.alive_is_due(now) ? 1 : 0;
  EXPECT_EQ(due, 4);
  EXPECT_FALSE(Supervisor(name, 0).alive_is_due(1'000'000));
  EXPECT_FALSE(Supervisor("", 1000).alive_is_due(1'000'000));
}

TEST(Notify, OfTheEnvironment) {
  const std::string name = unique_name("@environment-");
  const Listener listener(name);
  ::setenv("NOTIFY_SOCKET", name.c_str(), 1);
  ::setenv("WATCHDOG_USEC", "40000000", 1);
  ::setenv("WATCHDOG_PID", std::to_string(::getpid()).c_str(), 1);
  still_starting("12 %\nREADY=1");
  EXPECT_EQ(std::getenv("NOTIFY_SOCKET"), nullptr);
  EXPECT_EQ(listener.next(), "STATUS=12 % READY=1\nEXTEND_TIMEOUT_USEC=120000000");
  ready();
  EXPECT_EQ(listener.next(), "READY=1\nSTATUS=ready");
  alive();
  alive();
  EXPECT_EQ(listener.next(), "WATCHDOG=1");
  EXPECT_EQ(listener.next(), "");
  stopping();
  EXPECT_EQ(listener.next(), "STOPPING=1\nSTATUS=stopping");
}

TEST(Notify, TheWatchdogOfAnotherProcessIsNotOurs) {
  const std::string name = unique_name("@other-");
  const Listener listener(name);
  ::setenv("NOTIFY_SOCKET", name.c_str(), 1);
  ::setenv("WATCHDOG_USEC", "40000000", 1);
  ::setenv("WATCHDOG_PID", "1", 1);
  EXPECT_FALSE(Supervisor::from_environment().alive_is_due(100'000'000));
}

}  // namespace
}  // namespace doppel::notify
