#include "kafka/listener.h"

#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "base/status.h"

namespace doppel::kafka {
namespace {

constexpr std::string_view kProtocols[] = {"PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"};

// ApiVersions, version 0, which every broker answers before authentication: size, API key 18, version,
// correlation id, client id.
constexpr std::string_view kCorrelation("dplq", 4);
constexpr std::string_view kAskVersions("\0\0\0\x10\0\x12\0\0dplq\0\6doppel", 20);
// A TLS 1.2 ClientHello with one cipher and no extensions. A TLS listener answers with a hello or an alert.
constexpr std::string_view kHello(
    "\x16\3\1\0\x2d\1\0\0\x29\3\3"
    "doppel asks which protocol is he"
    "\0\0\2\xc0\x2f\1\0",
    50);

class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  ~Socket() {
    if (fd_ >= 0) ::close(fd_);
  }
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  Socket& operator=(Socket&&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

using Deadline = std::chrono::steady_clock::time_point;

bool await(int fd, short what, Deadline deadline) {
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  pollfd waiting{.fd = fd, .events = what, .revents = 0};
  return ::poll(&waiting, 1, static_cast<int>(std::max<int64_t>(0, left.count()))) == 1;
}

absl::Status away(const std::string& address, std::string_view why) {
  return absl::UnavailableError(fmt::format("{} cannot be reached: {}", address, why));
}

struct FreeList {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};

absl::StatusOr<Socket> connect_to(const std::string& address, Deadline deadline) {
  const size_t colon = address.rfind(':');
  std::string host = address.substr(0, colon);
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failed = ::getaddrinfo(host.c_str(), address.c_str() + colon + 1, &wanted, &found);
  if (failed != 0) return away(address, fmt::format("{}: {}", host, ::gai_strerror(failed)));
  const std::unique_ptr<addrinfo, FreeList> list(found);
  int error = 0;
  for (const addrinfo* at = list.get(); at != nullptr; at = at->ai_next) {
    Socket socket(::socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (socket.fd() < 0) {
      error = errno;
      continue;
    }
    if (::connect(socket.fd(), at->ai_addr, at->ai_addrlen) == 0) return socket;
    error = errno;
    if (error != EINPROGRESS) continue;
    socklen_t size = sizeof error;
    if (!await(socket.fd(), POLLOUT, deadline)) {
      error = ETIMEDOUT;
    } else if (::getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0) {
      return socket;
    }
  }
  return away(address, std::strerror(error));
}

// Returns the first `size` bytes of the answer, or fewer if the other side sends no more before the deadline.
std::string answer_to(const Socket& socket, std::string_view question, size_t size, Deadline deadline) {
  std::string out;
  if (::send(socket.fd(), question.data(), question.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(question.size()))
    return out;
  while (out.size() < size && await(socket.fd(), POLLIN, deadline)) {
    std::array<char, 64> bytes{};
    const ssize_t n = ::recv(socket.fd(), bytes.data(), std::min(bytes.size(), size - out.size()), 0);
    if (n <= 0) break;
    out.append(bytes.data(), static_cast<size_t>(n));
  }
  return out;
}

bool is_tls(std::string_view answer) {
  return answer.size() >= 2 && (answer[0] == 0x15 || answer[0] == 0x16) && answer[1] == 3;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> split_brokers(std::string_view brokers) {
  std::vector<std::string> out;
  for (const absl::string_view part : absl::StrSplit(absl_sv(brokers), ',')) {
    std::string address(absl::StripAsciiWhitespace(part));
    if (address.empty()) continue;
    const std::string as_written = address;
    const auto wrong = [&](std::string_view why) {
      return invalid(fmt::format("kafka.brokers: {} {}; a broker is host:port, such as localhost:9092",
                                 as_written, why));
    };
    if (const size_t scheme = address.find("://"); scheme != std::string::npos) {
      const std::string protocol = absl::AsciiStrToUpper(address.substr(0, scheme));
      if (std::find(std::begin(kProtocols), std::end(kProtocols), protocol) == std::end(kProtocols))
        return wrong("is a URL");
      address = address.substr(scheme + 3);
    }
    if (address.find_first_of("/@? \t") != std::string::npos) return wrong("is not an address");
    const bool bracket = address.starts_with('[');
    const size_t end = bracket ? address.find(']') : address.find(':');
    if (bracket && end == std::string::npos) return wrong("lacks a ]");
    if (!bracket && end != std::string::npos && address.find(':', end + 1) != std::string::npos)
      return wrong("is an IPv6 address without [ ]");
    const size_t colon = bracket ? end + 1 : std::min(end, address.size());
    if (colon == 0) return wrong("has no host");
    if (colon >= address.size()) {
      address += ":9092";
    } else {
      const std::string port = address.substr(colon + 1);
      if (address[colon] != ':' || port.empty() || port.size() > 5 ||
          port.find_first_not_of("0123456789") != std::string::npos || std::stoi(port) > 65535 ||
          std::stoi(port) == 0)
        return wrong("has no valid port");
    }
    out.push_back(std::move(address));
  }
  if (out.empty())
    return invalid("kafka.brokers: names no broker; a broker is host:port, such as localhost:9092");
  return out;
}

absl::Status reach(const std::string& address, std::chrono::milliseconds patience) {
  return connect_to(address, std::chrono::steady_clock::now() + patience).status();
}

absl::StatusOr<Speaks> ask_listener(const std::string& address, std::chrono::milliseconds patience) {
  const Deadline deadline = std::chrono::steady_clock::now() + patience;
  ASSIGN_OR_RETURN(const Socket plain, connect_to(address, deadline));
  const std::string said = answer_to(plain, kAskVersions, 8, deadline);
  if (said.size() == 8 && said.substr(4) == kCorrelation) return Speaks::plain;
  if (is_tls(said)) return Speaks::tls;
  const Deadline again = std::chrono::steady_clock::now() + patience;
  ASSIGN_OR_RETURN(const Socket encrypted, connect_to(address, again));
  return is_tls(answer_to(encrypted, kHello, 2, again)) ? Speaks::tls : Speaks::neither;
}

}  // namespace doppel::kafka
