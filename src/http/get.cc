#include "http/get.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>

#include "base/status.h"

namespace doppel::http {
namespace {

using Clock = std::chrono::steady_clock;

struct Address {
  std::string host, port, path;
  std::string socket;  // path of a unix socket
  std::string name;    // for the header Host
  bool secure = false;
};

absl::StatusOr<Address> split(const std::string& url) {
  Address out;
  out.secure = url.starts_with("https://");
  const std::string_view kScheme = out.secure ? "https://" : "http://";
  if (!url.starts_with(kScheme)) return invalid(url + ": an address must begin with http:// or https://");
  if (constexpr std::string_view kUnix = "unix:"; url.substr(kScheme.size()).starts_with(kUnix)) {
    const size_t begin = kScheme.size() + kUnix.size(), end = std::min(url.find(':', begin), url.size());
    out.socket = url.substr(begin, end - begin);
    out.path = end + 1 < url.size() ? url.substr(end + 1) : "/";
    out.name = "localhost";
    return out;
  }
  const size_t slash = std::min(url.find('/', kScheme.size()), url.size());
  out.path = slash == url.size() ? "/" : url.substr(slash);
  out.host = url.substr(kScheme.size(), slash - kScheme.size());
  out.name = out.host;
  const size_t bracket = out.host.rfind(']'), colon = out.host.rfind(':');
  const bool has_port = colon != std::string::npos && (bracket == std::string::npos || bracket < colon);
  out.port = has_port ? out.host.substr(colon + 1) : out.secure ? "443" : "80";
  if (has_port) out.host.resize(colon);
  if (out.host.starts_with('[') && out.host.ends_with(']'))
    out.host = out.host.substr(1, out.host.size() - 2);
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

  bool open(const Address& at, const std::shared_ptr<const Tls>& tls) {
    if (!at.socket.empty() ? !open_path(at.socket) : !open_host(at)) return false;
    stream_.emplace(tls, fd_, Stream::Side::client);
    return true;
  }

  bool send(std::string_view text) {
    while (!text.empty()) {
      const ssize_t n = stream_->write(text);
      if (n < 0 && errno == EAGAIN && wait(stream_->wants())) continue;
      if (n <= 0) return false;
      text.remove_prefix(static_cast<size_t>(n));
    }
    return true;
  }

  // Reads until the server closes the connection. False: an error, or the time is over.
  bool read(std::string& out) {
    std::array<char, 4096> buffer;
    for (;;) {
      const ssize_t n = stream_->read(buffer.data(), buffer.size());
      if (n == 0) return true;
      if (n < 0 && errno == EAGAIN && wait(stream_->wants())) continue;
      if (n < 0) return false;
      out.append(buffer.data(), static_cast<size_t>(n));
    }
  }

 private:
  bool open_host(const Address& at) {
    addrinfo wanted{};
    wanted.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (::getaddrinfo(at.host.c_str(), at.port.c_str(), &wanted, &found) != 0) return false;
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

  bool open_path(const std::string& path) {
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    if (path.size() >= sizeof to.sun_path) return false;
    std::copy(path.begin(), path.end(), to.sun_path);
    fd_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    return fd_ >= 0 && ::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
  }

  bool wait(short what) const {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end_ - Clock::now()).count();
    pollfd waiting{fd_, what, 0};
    return left > 0 && ::poll(&waiting, 1, static_cast<int>(left)) > 0;
  }

  Clock::time_point end_;
  int fd_ = -1;
  std::optional<Stream> stream_;
};

}  // namespace

absl::StatusOr<Answer> get(const std::string& url, std::chrono::milliseconds time, const TlsFiles& files) {
  ASSIGN_OR_RETURN(const Address at, split(url));
  std::shared_ptr<const Tls> tls;
  if (at.secure) {
    ASSIGN_OR_RETURN(tls, Tls::of_client(files));
    block_sigpipe();
  }
  Connection connection(Clock::now() + time);
  if (!connection.open(at, tls)) return absl::UnavailableError(absl_sv(url + ": nobody answers there"));
  std::string text;
  if (!connection.send("GET " + at.path + " HTTP/1.1\r\nHost: " + at.name +
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
