#include "http/listen.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/status.h"
#include "http/message.h"

namespace doppel::http {
namespace {

constexpr std::string_view kUnix = "unix:";
constexpr int kBacklog = 1024;
constexpr rlim_t kOtherFiles = 512;  // what the process may open besides connections

bool is_digits(std::string_view text) {
  return !text.empty() && text.size() <= 5 && text.find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_address(int family, std::string_view text) {
  in6_addr out{};
  return ::inet_pton(family, std::string(text).c_str(), &out) == 1;
}

// Closes `fd` and says why it does not listen.
absl::Status cannot(int fd, const std::string& listen) {
  const int error = errno;
  if (fd >= 0) ::close(fd);
  const std::string message = "http.listen: cannot listen on " + listen;
  if (error == EADDRINUSE)
    return invalid(message + ": the port is in use; name another one, or \"\" to disable the server");
  if (error == EACCES || error == EADDRNOTAVAIL || error == EAFNOSUPPORT || error == ENOENT ||
      error == ENOTDIR)
    return invalid(message + ": " + std::strerror(error));
  return io_error(message, error);
}

// A socket that a daemon left when it was killed answers nobody.
void remove_left_over(const sockaddr_un& at) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  const bool dead =
      ::connect(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 && errno == ECONNREFUSED;
  ::close(fd);
  struct stat info{};
  if (dead && ::lstat(at.sun_path, &info) == 0 && S_ISSOCK(info.st_mode)) ::unlink(at.sun_path);
}

absl::StatusOr<Listening> listen_at_path(const std::string& listen, Endpoint place) {
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  if (place.path.size() >= sizeof at.sun_path)
    return invalid("http.listen: " + listen + ": the path of a unix socket has at most 107 bytes");
  std::copy(place.path.begin(), place.path.end(), at.sun_path);
  remove_left_over(at);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0 || ::bind(fd, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0 || ::listen(fd, kBacklog) != 0)
    return cannot(fd, listen);
  return Listening{fd, std::move(place)};
}

}  // namespace

std::string Endpoint::url(std::string_view scheme) const {
  std::string out(scheme);
  out += "://";
  if (!path.empty()) return out + "unix:" + path + ":";
  const bool six = host.find(':') != std::string::npos;
  return out + (six ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

absl::StatusOr<Endpoint> read_endpoint(const std::string& listen) {
  if (listen.starts_with(kUnix)) {
    Endpoint out{.path = listen.substr(kUnix.size())};
    if (!out.path.starts_with('/'))
      return invalid("http.listen: \"" + listen + "\" has no path, such as unix:/run/doppel/http.sock");
    return out;
  }
  const auto wrong = [&] {
    return invalid("http.listen: \"" + listen +
                   "\" is not of the form host:port, such as 127.0.0.1:9464 or [::]:9464, or unix:/path");
  };
  const size_t colon = listen.rfind(':');
  if (colon == std::string::npos || colon == 0 || !is_digits(std::string_view(listen).substr(colon + 1)))
    return wrong();
  Endpoint out{.host = listen.substr(0, colon), .port = std::stoi(listen.substr(colon + 1))};
  if (out.port > 65535) return wrong();
  if (out.host.starts_with('[') && out.host.ends_with(']')) {
    out.host = out.host.substr(1, out.host.size() - 2);
    if (!is_address(AF_INET6, out.host)) return wrong();
  } else if (out.host.find(':') != std::string::npos) {
    return invalid("http.listen: write the IPv6 address of " + listen + " in brackets, such as [::1]:9464");
  }
  return out;
}

absl::StatusOr<Listening> listen_at(const std::string& listen) {
  ASSIGN_OR_RETURN(Endpoint place, read_endpoint(listen));
  if (!place.path.empty()) return listen_at_path(listen, std::move(place));
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int failed = ::getaddrinfo(place.host.c_str(), std::to_string(place.port).c_str(), &wanted, &list);
  if (failed != 0)
    return invalid("http.listen: " + listen + ": " + place.host +
                   " is not an address of this machine: " + ::gai_strerror(failed));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(list, ::freeaddrinfo);
  // localhost is 127.0.0.1 for clients that know no other.
  const addrinfo* at = list;
  while (at->ai_family != AF_INET && at->ai_next != nullptr) at = at->ai_next;
  const int fd = ::socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return cannot(fd, listen);
  const int yes = 1, no = 0;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);  // accepted sockets inherit it
  if (at->ai_family == AF_INET6) ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
  if (::bind(fd, at->ai_addr, at->ai_addrlen) != 0 || ::listen(fd, kBacklog) != 0) return cannot(fd, listen);

  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &size) != 0 ||
      ::getnameinfo(reinterpret_cast<sockaddr*>(&bound), size, host.data(), host.size(), port.data(),
                    port.size(), NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return cannot(fd, listen);
  place.host = host.data();
  place.port = std::atoi(port.data());
  return Listening{fd, std::move(place)};
}

std::string client_of(const sockaddr_storage& from) {
  if (from.ss_family == AF_INET) {
    const auto& in = reinterpret_cast<const sockaddr_in&>(from);
    return {reinterpret_cast<const char*>(&in.sin_addr), sizeof in.sin_addr};
  }
  if (from.ss_family != AF_INET6) return "unix";
  const in6_addr& address = reinterpret_cast<const sockaddr_in6&>(from).sin6_addr;
  const auto* bytes = reinterpret_cast<const char*>(&address);
  return IN6_IS_ADDR_V4MAPPED(&address) ? std::string(bytes + 12, 4) : std::string(bytes, 8);
}

size_t permit(int connections) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return static_cast<size_t>(connections);
  const auto wanted = static_cast<rlim_t>(connections) + kOtherFiles;
  if (limit.rlim_cur < wanted) {
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = std::min(limit.rlim_max, wanted);
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) limit.rlim_cur = before;
  }
  const rlim_t most = limit.rlim_cur < wanted ? limit.rlim_cur / 2 : static_cast<rlim_t>(connections);
  return static_cast<size_t>(most);
}

std::optional<bool> may_be_called(std::string_view host, const std::vector<std::string>& names) {
  if (host.starts_with('[')) {
    const size_t end = host.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view behind = host.substr(end + 1);
    if (!behind.empty() && (behind.front() != ':' || !is_digits(behind.substr(1)))) return std::nullopt;
    if (!is_address(AF_INET6, host.substr(1, end - 1))) return std::nullopt;
    return true;
  }
  if (const size_t colon = host.find(':'); colon != std::string_view::npos) {
    if (!is_digits(host.substr(colon + 1))) return std::nullopt;
    host = host.substr(0, colon);
  }
  const auto fits = [](char c) {
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '-' || c == '.' ||
           c == '_';
  };
  if (!std::all_of(host.begin(), host.end(), fits)) return std::nullopt;
  if (host.ends_with('.')) host.remove_suffix(1);
  if (host.find('.') == std::string_view::npos || is_address(AF_INET, host)) return true;
  constexpr std::string_view kLocal = ".localhost";
  if (host.size() > kLocal.size() && same_word(host.substr(host.size() - kLocal.size()), kLocal)) return true;
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return name == "*" || same_word(name, host); });
}

}  // namespace doppel::http
