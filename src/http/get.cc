#include "http/get.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/status.h"

namespace doppel::http {
namespace {

using Clock = std::chrono::steady_clock;

struct Place {
  std::string host, port, path;
};

absl::StatusOr<Place> split(const std::string& url) {
  constexpr std::string_view kScheme = "http://";
  if (!url.starts_with(kScheme)) return invalid(url + ": an address must begin with http://");
  Place out;
  const size_t slash = std::min(url.find('/', kScheme.size()), url.size());
  out.path = slash == url.size() ? "/" : url.substr(slash);
  out.host = url.substr(kScheme.size(), slash - kScheme.size());
  const size_t colon = out.host.rfind(':');
  out.port = colon == std::string::npos ? "80" : out.host.substr(colon + 1);
  out.host.resize(std::min(colon, out.host.size()));
  return out;
}

class Connection {
 public:
  explicit Connection(Clock::time_point end) : end_(end) {}
  ~Connection() {
    if (fd_ >= 0) ::close(fd_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  bool open(const Place& place) {
    addrinfo wanted{};
    wanted.ai_family = AF_INET;
    wanted.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (::getaddrinfo(place.host.c_str(), place.port.c_str(), &wanted, &found) != 0) return false;
    fd_ = ::socket(found->ai_family, found->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    bool connected = fd_ >= 0 && ::connect(fd_, found->ai_addr, found->ai_addrlen) == 0;
    ::freeaddrinfo(found);
    if (!connected && fd_ >= 0 && errno == EINPROGRESS && wait(POLLOUT)) {
      int failed = 0;
      socklen_t size = sizeof failed;
      connected = ::getsockopt(fd_, SOL_SOCKET, SO_ERROR, &failed, &size) == 0 && failed == 0;
    }
    return connected;
  }

  bool send(std::string_view text) {
    while (!text.empty()) {
      if (!wait(POLLOUT)) return false;
      const ssize_t n = ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      text.remove_prefix(static_cast<size_t>(n));
    }
    return true;
  }

  // Reads until the server closes the connection. False: an error, or the time is over.
  bool read(std::string& out) {
    std::array<char, 4096> buffer;
    while (wait(POLLIN)) {
      const ssize_t n = ::recv(fd_, buffer.data(), buffer.size(), 0);
      if (n == 0) return true;
      if (n < 0) return false;
      out.append(buffer.data(), static_cast<size_t>(n));
    }
    return false;
  }

 private:
  bool wait(short what) const {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end_ - Clock::now()).count();
    pollfd waiting{fd_, what, 0};
    return left > 0 && ::poll(&waiting, 1, static_cast<int>(left)) > 0;
  }

  Clock::time_point end_;
  int fd_ = -1;
};

}  // namespace

absl::StatusOr<Answer> get(const std::string& url, std::chrono::milliseconds time) {
  ASSIGN_OR_RETURN(const Place place, split(url));
  Connection connection(Clock::now() + time);
  if (!connection.open(place)) return absl::UnavailableError(absl_sv(url + ": nobody answers there"));
  std::string text;
  if (!connection.send("GET " + place.path + " HTTP/1.1\r\nHost: " + place.host +
                       "\r\nConnection: close\r\n\r\n") ||
      !connection.read(text)) {
    return absl::UnavailableError(absl_sv(url + ": no answer in time"));
  }
  Answer out;
  const size_t space = text.find(' ');
  const size_t body = text.find("\r\n\r\n");
  if (!text.starts_with("HTTP/1.") || body == std::string::npos ||
      std::from_chars(text.data() + space + 1, text.data() + body, out.status).ec != std::errc()) {
    return absl::UnavailableError(absl_sv(url + ": the program that answers there is not a web server"));
  }
  out.body = text.substr(body + 4);
  return out;
}

}  // namespace doppel::http
