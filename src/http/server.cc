#include "http/server.h"

#include <arpa/inet.h>
#include <civetweb.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <future>
#include <mutex>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/status.h"
#include "http/cutter.h"
#include "http/exchange.h"
#include "http/token.h"

namespace doppel::http {

struct Server::Impl {
  ServerOptions options;
  std::string host;  // numeric
  int port = 0;
  Router router;
  Cutter cutter;
  mg_context* context = nullptr;

  std::mutex mutex;
  std::string complaint;  // civetweb's last message

  absl::Status open();
  void answer(mg_connection* connection);
  Response respond(mg_connection* connection, const mg_request_info& info, int socket);
};

namespace {

// How much of a refused body is read, so that its sender sees the response.
constexpr uint64_t kDrainedBytes = 4 << 20;
constexpr std::chrono::milliseconds kDrainTime{1000};

template <typename Impl>
Impl* impl_of(const mg_connection* connection) {
  return static_cast<Impl*>(mg_get_user_data(mg_get_context(connection)));
}

// Tries to listen before civetweb does, because civetweb's error does not say whether the port is in use or
// the address is not ours.
absl::Status try_listen(const std::string& listen, const addrinfo& at) {
  const int fd = ::socket(at.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return io_error("http.listen: no socket for " + listen);
  const int yes = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  absl::Status status;
  if (::bind(fd, at.ai_addr, at.ai_addrlen) != 0 || ::listen(fd, 1) != 0) {
    const int error = errno;
    std::string message = "http.listen: cannot listen on " + listen;
    // These need a person; waiting does not help.
    if (error == EADDRINUSE) {
      status = invalid(message + ": the port is in use; name another one, or \"\" to disable the server");
    } else if (error == EACCES || error == EADDRNOTAVAIL) {
      status = invalid(message + ": " + std::strerror(error));
    } else {
      status = io_error(message, error);
    }
  }
  ::close(fd);
  return status;
}

// Returns the numeric address, because civetweb does not resolve names. Fails if we cannot listen there.
absl::StatusOr<std::string> resolve(const std::string& listen, const std::string& host, int port) {
  addrinfo wanted{};
  wanted.ai_family = AF_INET;  // civetweb was built without IPv6 here
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int failed = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &list);
  if (failed != 0)
    return invalid("http.listen: " + listen + ": " + host +
                   " is not an IPv4 address of this machine: " + ::gai_strerror(failed));
  std::array<char, NI_MAXHOST> text{};
  ::getnameinfo(list->ai_addr, list->ai_addrlen, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
  std::string numeric = text.data();
  absl::Status status = try_listen(listen, *list);
  ::freeaddrinfo(list);
  if (!status.ok()) return status;
  return numeric;
}

void knock(const std::string& host, int port) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(port));
  ::inet_pton(AF_INET, host.c_str(), &to.sin_addr);
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return;
  const int ignored = ::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to);
  static_cast<void>(ignored);
  ::close(fd);
}

}  // namespace

absl::StatusOr<std::pair<std::string, int>> split_listen(const std::string& listen) {
  const auto wrong = [&] {
    return invalid("http.listen: \"" + listen + "\" is not of the form host:port, such as 127.0.0.1:9464");
  };
  const size_t colon = listen.rfind(':');
  if (colon == std::string::npos || colon == 0) return wrong();
  std::string host = listen.substr(0, colon);
  const std::string digits = listen.substr(colon + 1);
  if (digits.empty() || digits.size() > 5 || digits.find_first_not_of("0123456789") != std::string::npos)
    return wrong();
  const int port = std::stoi(digits);
  if (port > 65535) return wrong();
  if (host.find(':') != std::string::npos) {
    return invalid("http.listen: " + listen +
                   " is an IPv6 address, which the HTTP library of this build cannot listen on; name an IPv4 "
                   "address, such as 127.0.0.1:" +
                   digits + " behind a proxy, or 0.0.0.0:" + digits + " for all");
  }
  if (host.empty()) return wrong();
  return std::pair(host, port);
}

absl::Status Server::Impl::open() {
  ASSIGN_OR_RETURN(const auto place, split_listen(options.listen));
  ASSIGN_OR_RETURN(host, resolve(options.listen, place.first, place.second));

  mg_callbacks callbacks{};
  callbacks.begin_request = [](mg_connection* connection) {
    impl_of<Impl>(connection)->answer(connection);
    return 1;
  };
  callbacks.http_error = [](mg_connection* connection, int status, const char*) {
    write_response(connection, error(status, reason(status)), impl_of<Impl>(connection)->options.server,
                   false);
    return 0;
  };
  callbacks.log_message = [](const mg_connection* connection, const char* message) {
    Impl* impl = impl_of<Impl>(connection);
    if (impl != nullptr) {
      const std::lock_guard lock(impl->mutex);
      impl->complaint = message;
    }
    return 1;
  };

  const std::string port_text = host + ":" + std::to_string(place.second);
  const std::string time_out = std::to_string(options.time_out.count());
  const std::string threads = std::to_string(options.threads), waiting = std::to_string(options.waiting);
  const std::string header = std::to_string(options.max_header);
  std::vector<const char*> settings{"listening_ports",
                                    port_text.c_str(),
                                    "num_threads",
                                    threads.c_str(),
                                    "connection_queue",
                                    waiting.c_str(),
                                    "request_timeout_ms",
                                    time_out.c_str(),
                                    "max_request_size",
                                    header.c_str(),
                                    "decode_url",
                                    "no",
                                    "enable_keep_alive",
                                    "no",
                                    "enable_directory_listing",
                                    "no",
                                    "enable_auth_domain_check",
                                    "no",
                                    "tcp_nodelay",
                                    "1"};
  settings.push_back(nullptr);

  mg_init_library(MG_FEATURES_DEFAULT);
  std::array<char, 256> text{};
  unsigned code = 0;
  mg_error_data failure{};
  failure.text = text.data();
  failure.text_buffer_size = text.size();
  // `code` is a pointer in civetweb 1.15 and a number from 1.16 on.
  [&](auto& code_of) {
    if constexpr (std::is_pointer_v<std::remove_reference_t<decltype(code_of)>>) code_of = &code;
  }(failure.code);
  mg_init_data init{&callbacks, this, settings.data()};
  context = mg_start2(&init, &failure);
  if (context == nullptr) {
    mg_exit_library();
    const std::lock_guard lock(mutex);
    return absl::UnavailableError("http.listen: cannot serve " + options.listen + ": " +
                                  (complaint.empty() ? std::string(text.data()) : complaint));
  }
  std::array<mg_server_port, 1> ports{};
  port = mg_get_server_ports(context, 1, ports.data()) == 1 ? ports[0].port : place.second;
  return absl::OkStatus();
}

void Server::Impl::answer(mg_connection* connection) {
  const mg_request_info& info = *mg_get_request_info(connection);
  const int socket = find_socket(info.remote_addr, info.remote_port, info.server_port);
  Response response;
  try {
    response = respond(connection, info, socket);
  } catch (const std::exception& failed) {
    log::error("a request failed", {{"path", info.local_uri_raw}, {"error", failed.what()}});
    response = error(500, "this request failed; the log says why");
  }
  if (response.status == 0) return;  // the client is gone
  {
    const Cutter::Watch watch(cutter, socket, options.time_out);
    write_response(connection, response, options.server, std::string_view(info.request_method) == "HEAD");
  }
  if (response.status >= 400 && (info.content_length != 0)) {
    if (socket >= 0) ::shutdown(socket, SHUT_WR);
    {
      const Cutter::Watch watch(cutter, socket, kDrainTime);
      drain(connection, kDrainedBytes);
    }
    // Otherwise civetweb would read the rest of the body, however large it is.
    if (socket >= 0) ::shutdown(socket, SHUT_RDWR);
  }
}

Response Server::Impl::respond(mg_connection* connection, const mg_request_info& info, int socket) {
  Request request;
  if (info.local_uri_raw == nullptr) return error(400, "the address does not belong to this server");
  if (!read_head(info, request)) return error(400, "the query contains an invalid escape");
  Router::Match match = router.find(request.method, request.path);
  if (match.broken) return error(400, "the path contains an invalid escape");
  if (match.route == nullptr && match.allowed.empty()) return error(404, "there is nothing at this address");
  if (match.route == nullptr) {
    Response out = error(405, "this address does not support this method");
    std::string allowed;
    for (const std::string& method : match.allowed) allowed += (allowed.empty() ? "" : ", ") + method;
    out.headers.emplace_back("Allow", allowed);
    return out;
  }
  if (!options.token.empty()) {
    const bool right = bearer_is(request.header("authorization").value_or(""), options.token);
    request.token = right ? Request::Token::right : Request::Token::missing;
  }
  if (match.route->access == Access::token) {
    if (options.token.empty())
      return error(403,
                   "changes are disabled: no token is configured (http.token_file or DOPPEL_HTTP_TOKEN)");
    if (request.token != Request::Token::right)
      return token_needed("this request needs the server's bearer token");
  }
  request.params = std::move(match.params);
  std::string body;
  if (request.method != "GET" && request.method != "HEAD") {
    const Cutter::Watch watch(cutter, socket, options.time_out);
    switch (read_body(connection, request, info.content_length, options.max_body, body)) {
      case Body::whole:
        break;
      case Body::too_large:
        return error(413, "the body is larger than " + std::to_string(options.max_body) + " bytes");
      case Body::broken:
        return error(408, "the body did not arrive completely in time");
    }
  }
  request.body = body;
  if (request.method == "HEAD") request.method = "GET";
  return match.route->handler(request);
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() { stop(); }

absl::StatusOr<std::unique_ptr<Server>> Server::start(ServerOptions options) {
  auto impl = std::make_unique<Impl>();
  impl->options = std::move(options);
  RETURN_IF_ERROR(impl->open());
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

int Server::port() const { return impl_->port; }

std::string Server::url() const { return "http://" + impl_->host + ":" + std::to_string(impl_->port); }

void Server::route(std::string method, std::string_view pattern, Handler handler, Access access) {
  impl_->router.add(std::move(method), pattern, std::move(handler), access);
}

// civetweb checks only every two seconds whether it must stop, and at each new connection. So this connects.
void Server::stop() {
  mg_context* const context = std::exchange(impl_->context, nullptr);
  if (context == nullptr) return;
  std::promise<void> ended;
  std::future<void> end = ended.get_future();
  std::thread stopping([&] {
    mg_stop(context);
    ended.set_value();
  });
  do {
    knock(impl_->host, impl_->port);
  } while (end.wait_for(std::chrono::milliseconds(5)) == std::future_status::timeout);
  stopping.join();
  mg_exit_library();
}

}  // namespace doppel::http
