#include "http/server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <exception>
#include <list>
#include <thread>
#include <unordered_set>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "http/budget.h"
#include "http/framing.h"
#include "http/listen.h"
#include "http/router.h"
#include "http/tls.h"

namespace doppel::http {
namespace {

namespace asio = boost::asio;
using asio::posix::stream_descriptor;
using Code = boost::system::error_code;
using std::chrono::milliseconds;

// How much of a refused body is read, so that its sender sees the response.
constexpr uint64_t kDrainedBytes = 4 << 20;
constexpr milliseconds kDrainTime{1000};
// How long a server that stops waits for what is on its way.
constexpr milliseconds kStopTime{1000};
constexpr milliseconds kPause{100};  // after the process had no file descriptor for a connection
constexpr size_t kHeadPiece = 16 << 10, kBodyPiece = 64 << 10;
constexpr int kAcceptedAtOnce = 64;
constexpr size_t kReserved = 16;  // connections for probes, beyond the limit

Response no_room(Budget::Full full) {
  return full == Budget::Full::share
             ? try_again(429,
                         "the bodies that this client is sending fill its share of the memory; try again")
             : try_again(503, "the bodies that clients are sending fill the memory for them; try again");
}

}  // namespace

struct Server::Impl {
  struct Connection;

  explicit Impl(ServerOptions o, Listening l, std::unique_ptr<ServedTls> t)
      : options(std::move(o)),
        listening(std::move(l)),
        tls(std::move(t)),
        budget(std::max(options.bodies, options.max_body * 4)),
        most(permit(options.connections)),
        listener(io, listening.fd),
        handlers(static_cast<size_t>(options.threads)),
        probes(1) {}
  void begin() {
    accept();
    thread = std::thread([this] {
      block_sigpipe();
      io.run();
    });
  }

  const ServerOptions options;
  const Listening listening;
  const std::unique_ptr<ServedTls> tls;  // null: without
  Router router;
  Budget budget;
  Counter counter;
  std::atomic<int> queued = 0;  // requests that a handler has not begun

  // What follows belongs to `thread`.
  const size_t most;  // connections
  asio::io_context io{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{io.get_executor()};  // until stop()
  stream_descriptor listener;
  asio::steady_timer pause{io};
  std::unordered_set<std::shared_ptr<Connection>> connections;
  std::list<Connection*> waiting;  // for a head, the longest first
  std::array<char, kBodyPiece> arrived{};
  bool stopping = false;

  asio::thread_pool handlers, probes;
  std::thread thread;

  void accept();
  void admit(int fd, const sockaddr_storage& from);
  bool evict();
  void stop();
};

// All members run on the server's thread, except handle().
struct Server::Impl::Connection : std::enable_shared_from_this<Connection> {
  Connection(Impl& s, int fd, std::string client_address, bool for_probes)
      : server(s),
        socket(s.io, fd),
        timer(s.io),
        client(std::move(client_address)),
        reserved(for_probes),
        stream(s.tls == nullptr ? nullptr : s.tls->now(), fd, Stream::Side::server),
        framing(static_cast<size_t>(s.options.max_header)) {}

  enum class Phase { idle, head, body, handling, writing, draining, closed };

  Impl& server;
  stream_descriptor socket;
  asio::steady_timer timer;
  uint64_t armed = 0;  // counts the times that the timer was set
  const std::string client;
  const bool reserved;
  Stream stream;
  Framing framing;
  Phase phase = Phase::idle;
  std::list<Connection*>::iterator place;  // in `waiting`, in idle and head
  std::string kept;                        // bytes that were read and not used yet

  Request request;
  std::shared_ptr<const Route> route;
  std::string packed, body;
  std::string_view coding;
  Budget::Hold held;
  bool is_head = false, keeps = true, closes = false, waits = false;  // waits: for its response; no probe
  std::optional<std::chrono::steady_clock::time_point> since;         // the end of the head

  std::string head_out;
  Response response;
  size_t written = 0;
  uint64_t drained = 0;

  void begin() {
    enter_waiting(server.options.time_out);
    wait_to_read();
  }

  void enter_waiting(milliseconds time) {
    phase = Phase::idle;
    place = server.waiting.insert(server.waiting.end(), this);
    set_timer(time);
  }
  void leave_waiting() {
    if (phase == Phase::idle || phase == Phase::head) server.waiting.erase(place);
  }

  void set_timer(milliseconds time) {
    timer.expires_after(time);
    timer.async_wait([self = shared_from_this(), id = ++armed](const Code& failed) {
      if (!failed && id == self->armed) self->too_late();
    });
  }

  void wait_to_read() {
    const auto ready = [self = shared_from_this()](const Code& failed) {
      if (!failed) self->readable();
    };
    if (stream.has_more()) return asio::post(server.io, [ready] { ready({}); });
    wait(ready);
  }
  template <typename Then>
  void wait(Then then) {
    const bool out = stream.wants() == POLLOUT;
    socket.async_wait(out ? stream_descriptor::wait_write : stream_descriptor::wait_read, std::move(then));
  }

  void readable() {
    if (phase == Phase::closed || phase == Phase::writing) return;
    const size_t size = phase == Phase::idle || phase == Phase::head ? kHeadPiece : kBodyPiece;
    const ssize_t n = stream.read(server.arrived.data(), size);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return wait_to_read();
    if (phase == Phase::draining) {
      drained += n > 0 ? static_cast<uint64_t>(n) : kDrainedBytes;
      return drained < kDrainedBytes ? wait_to_read() : close();
    }
    if (n <= 0) {
      return n == 0 && phase == Phase::body ? refuse(error(400, "the body ended before its length"))
                                            : close();
    }
    std::string_view got(server.arrived.data(), static_cast<size_t>(n));
    if (kept.empty()) return feed(got);
    std::string all = std::exchange(kept, {});
    all += got;
    feed(all);
  }

  // Goes through bytes until it needs more, or a request is complete.
  void feed(std::string_view bytes) {
    if (phase == Phase::idle && !bytes.empty()) {
      phase = Phase::head;
      set_timer(server.options.time_out);
    }
    while (phase == Phase::head || phase == Phase::body) {
      switch (framing.read(bytes)) {
        case Framing::Got::more:
          kept = bytes;
          return wait_to_read();
        case Framing::Got::head:
          begin_request();
          break;
        case Framing::Got::piece:
          take(framing.piece());
          break;
        case Framing::Got::end:
          dispatch();
          break;
        case Framing::Got::refused:
          leave_waiting();
          phase = Phase::body;
          refuse(error(framing.refusal().status, framing.refusal().message));
          break;
      }
    }
    kept = bytes;
  }

  void begin_request() {
    leave_waiting();
    phase = Phase::body;
    keeps = framing.head().keeps && !reserved;
    since = std::chrono::steady_clock::now();
    if (std::optional<Response> refusal = look_at_head()) {
      closes = refusal->status == 400;  // whoever sent that may mean another request by what follows
      return refuse(*std::move(refusal));
    }
    const Head& head = framing.head();
    if (head.length == 0) return;
    set_timer(server.options.time_out);
    if (head.length) (coding.empty() ? body : packed).reserve(*head.length);
    constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    if (head.continues) stream.write(kContinue);  // it fits in the empty buffer of the socket
  }

  std::optional<Response> look_at_head() {
    Head& head = framing.head();
    is_head = head.method == "HEAD";
    std::string_view target = head.target, host = head.host;
    for (const std::string_view scheme : {"http://", "https://"}) {
      if (!target.starts_with(scheme)) continue;
      target.remove_prefix(scheme.size());
      host = target.substr(0, target.find_first_of("/?"));
      target.remove_prefix(host.size());
    }
    const std::optional<bool> called = may_be_called(host, server.options.hosts);
    if (!called) return error(400, "the name of the host is malformed");
    if (!*called)
      return error(403, "this server is not called " + std::string(host) + "; http.hosts has its names");
    if (!target.starts_with('/')) return error(400, "the address does not belong to this server");
    const std::string_view path = target.substr(0, target.find('?'));
    auto query = parse_query(target.substr(std::min(path.size() + 1, target.size())));
    if (!query) return error(400, "the query contains an invalid escape");
    Router::Match match = server.router.find(head.method, path);
    if (match.broken) return error(400, "the path contains an invalid escape");
    if (match.route == nullptr && match.allowed.empty())
      return error(404, "there is nothing at this address");
    if (match.route == nullptr) {
      Response out = error(405, "this address does not support this method");
      std::string allowed;
      for (const std::string& method : match.allowed) allowed += (allowed.empty() ? "" : ", ") + method;
      out.headers.emplace_back("Allow", allowed);
      return out;
    }
    route = std::move(match.route);
    if (reserved && route->access != Access::probe)
      return try_again(503, "this server has all the connections that it may have; try again");
    request = {.method = is_head ? "GET" : std::string_view(head.method),
               .path = path,
               .params = std::move(match.params),
               .query = *std::move(query)};
    for (const auto& [name, value] : head.fields) request.headers.emplace_back(name, value);
    if (!server.options.token.empty()) {
      const bool right = bearer_is(request.header("authorization").value_or(""), server.options.token);
      request.token = right ? Request::Token::right : Request::Token::missing;
    }
    if (route->access == Access::token && server.options.token.empty())
      return error(403,
                   "changes are disabled: no token is configured (http.token_file or DOPPEL_HTTP_TOKEN)");
    if (route->access >= Access::token_if_any && request.token == Request::Token::missing)
      return token_needed("this request needs the server's bearer token");
    return look_at_body(head);
  }

  std::optional<Response> look_at_body(const Head& head) {
    coding = request.header("content-encoding").value_or("");
    if (same_word(coding, "identity")) coding = {};
    held = Budget::Hold(server.budget, client);
    if (!head.length) return std::nullopt;
    if (*head.length > server.options.max_body) return too_large();
    const Budget::Full full = server.budget.fits(client, *head.length);
    return full == Budget::Full::no ? std::nullopt : std::optional(no_room(full));
  }

  Response too_large() const {
    return error(413, "the body is larger than " + std::to_string(server.options.max_body) + " bytes");
  }

  void take(std::string_view piece) {
    std::string& to = coding.empty() ? body : packed;
    if (to.size() + piece.size() > server.options.max_body) return refuse(too_large());
    const Budget::Full full = held.take(piece.size());
    if (full != Budget::Full::no) return refuse(no_room(full));
    to += piece;
  }

  void dispatch() {
    phase = Phase::handling;
    ++armed;
    timer.cancel();
    const bool probe = route->access == Access::probe;
    if (!probe && server.queued.fetch_add(1) >= server.options.waiting) {
      server.queued.fetch_sub(1);
      return refuse(try_again(503, "too many requests wait; try again"));
    }
    waits = !probe;
    if (waits) server.counter.waits(1);
    asio::post(probe ? server.probes : server.handlers, [self = shared_from_this(), probe]() mutable {
      if (!probe) self->server.queued.fetch_sub(1);
      handle(std::make_shared<Pending>(std::move(self)));
    });
  }

  // A request that waits for its response. give() works once, on any thread.
  struct Pending {
    ~Pending() { give(error(500, "this request failed; the log says why")); }
    void give(Response answer) {
      if (given.exchange(true)) return;
      connection->response = std::move(answer);
      // The last reference ends on the server's thread.
      asio::io_context& events = connection->server.io;
      asio::post(events, [self = std::move(connection)] { self->respond(); });
    }
    std::shared_ptr<Connection> connection;
    std::atomic<bool> given = false;
  };

  // On a thread of a pool.
  static void handle(const std::shared_ptr<Pending>& pending) {
    Connection& connection = *pending->connection;
    const std::shared_ptr<const Route> called = connection.route;
    const std::string path(connection.request.path);
    try {
      if (std::optional<Response> refusal = connection.unpack_body())
        return pending->give(*std::move(refusal));
      connection.request.body = connection.body;
      if (!called->later) return pending->give(called->handler(connection.request));
      called->later(connection.request, [pending](Response with) { pending->give(std::move(with)); });
    } catch (const std::exception& failed) {
      log::error("a request failed", {{"path", path}, {"error", failed.what()}});
    }
  }

  std::optional<Response> unpack_body() {
    if (coding.empty()) return std::nullopt;
    Budget::Full full = Budget::Full::no;
    // A body counts once, packed or unpacked, whichever is larger: so the largest one fits into a share.
    uint64_t counted = packed.size();
    const auto room = [&](uint64_t bytes) {
      const uint64_t there = std::min(bytes, counted);
      counted -= there;
      full = held.take(bytes - there);
      return full == Budget::Full::no;
    };
    switch (unpack(coding, packed, server.options.max_body, room, body)) {
      case Unpacked::whole:
        std::string().swap(packed);
        return std::nullopt;
      case Unpacked::unknown_coding: {
        Response out = error(415, "a body may be packed with gzip or zstd, and with nothing else");
        out.headers.emplace_back("Accept-Encoding", "gzip, zstd");
        return out;
      }
      case Unpacked::damaged:
        return error(400, "the body is not what its Content-Encoding says, or it is damaged");
      case Unpacked::too_large:
        return too_large();
      case Unpacked::no_room:
        break;
    }
    return no_room(full == Budget::Full::no ? Budget::Full::all : full);
  }

  // Answers without the rest of the request. Later, because feed() still holds what follows.
  void refuse(Response with) {
    phase = Phase::handling;
    // Without a body, the next request begins where this one ends.
    if (framing.head().length != 0 || !framing.refusal().message.empty()) closes = true;
    ++armed;
    timer.cancel();
    response = std::move(with);
    asio::post(server.io, [self = shared_from_this()] { self->respond(); });
  }

  void respond() {
    count();
    if (phase == Phase::closed) return;
    for (std::string* text : {&packed, &body}) std::string().swap(*text);
    held.release();
    keeps = keeps && !closes && !server.stopping;
    head_out = head_of(response, server.options.server, keeps);
    if (is_head || response.status == 204) response.body.clear();
    written = 0;
    phase = Phase::writing;
    set_timer(server.stopping ? kStopTime : server.options.time_out);
    write();
  }

  void count() {
    if (std::exchange(waits, false)) server.counter.waits(-1);
    if (route != nullptr && route->access == Access::probe) return;
    const auto now = std::chrono::steady_clock::now();
    const std::chrono::duration<double> took = now - std::exchange(since, std::nullopt).value_or(now);
    server.counter.responded(response.status, took.count());
  }

  void write() {
    while (written < head_out.size() + response.body.size()) {
      const size_t of_head = std::min(written, head_out.size());
      const ssize_t n = stream.write(std::string_view(head_out).substr(of_head),
                                     std::string_view(response.body).substr(written - of_head));
      if (n > 0) {
        written += static_cast<size_t>(n);
      } else if (errno == EAGAIN) {
        wait([self = shared_from_this()](const Code& failed) {
          if (!failed && self->phase == Phase::writing) self->write();
        });
        return;
      } else if (errno != EINTR) {
        return close();
      }
    }
    finish();
  }

  void finish() {
    response = {};
    route = nullptr;
    is_head = false;
    if (closes) {
      // The client may still send what nobody reads. It must see the response before the connection breaks.
      stream.end();
      ::shutdown(socket.native_handle(), SHUT_WR);
      phase = Phase::draining;
      set_timer(server.stopping ? kStopTime : kDrainTime);
      return wait_to_read();
    }
    if (!keeps) return close();
    framing.begin();
    enter_waiting(server.options.idle);
    if (kept.empty()) return wait_to_read();
    const std::string next = std::exchange(kept, {});
    feed(next);
  }

  void too_late() {
    if (phase == Phase::body) return refuse(error(408, "the body did not arrive completely in time"));
    if (phase != Phase::head) return close();
    leave_waiting();
    phase = Phase::body;
    closes = true;
    refuse(error(408, "the request did not arrive completely in time"));
  }

  // The server stops.
  void end() {
    if (phase == Phase::idle || phase == Phase::head) return close();
    if (phase != Phase::handling) set_timer(kStopTime);
  }

  void close() {
    if (phase == Phase::closed) return;
    leave_waiting();
    phase = Phase::closed;
    ++armed;
    timer.cancel();
    stream.end();
    Code ignored;
    ignored = socket.close(ignored);
    held.release();
    server.counter.connected(-1);
    server.connections.erase(shared_from_this());
    if (server.stopping && server.connections.empty()) server.io.stop();
  }
};

void Server::Impl::accept() {
  listener.async_wait(stream_descriptor::wait_read, [this](const Code& failed) {
    if (failed) return;
    for (int i = 0; i < kAcceptedAtOnce; ++i) {
      sockaddr_storage from{};
      socklen_t size = sizeof from;
      const int fd = ::accept4(listener.native_handle(), reinterpret_cast<sockaddr*>(&from), &size,
                               SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (fd >= 0) {
        admit(fd, from);
      } else if (errno == EAGAIN) {
        break;
      } else if ((errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) && !evict()) {
        pause.expires_after(kPause);
        pause.async_wait([this](const Code& stopped) {
          if (!stopped) accept();
        });
        return;
      }
    }
    accept();
  });
}

void Server::Impl::admit(int fd, const sockaddr_storage& from) {
  const bool reserved = connections.size() >= most && !evict();
  if (reserved && connections.size() >= most + kReserved) {
    ::close(fd);
    return;
  }
  constexpr int kYes = 1;  // what TLS says to begin with must not wait for acknowledgements
  if (tls != nullptr) ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &kYes, sizeof kYes);
  const auto connection = std::make_shared<Connection>(*this, fd, client_of(from), reserved);
  connections.insert(connection);
  counter.connected(1);
  connection->begin();
}

bool Server::Impl::evict() {
  if (waiting.empty()) return false;
  waiting.front()->close();
  return true;
}

void Server::Impl::stop() {
  if (!thread.joinable()) return;
  asio::post(io, [this] {
    stopping = true;
    Code ignored;
    ignored = listener.close(ignored);
    pause.cancel();
    if (connections.empty()) return io.stop();
    const std::vector<std::shared_ptr<Connection>> all(connections.begin(), connections.end());
    for (const auto& connection : all) connection->end();
  });
  thread.join();
  handlers.join();
  probes.join();
  if (!listening.place.path.empty()) ::unlink(listening.place.path.c_str());
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() { stop(); }

absl::StatusOr<std::unique_ptr<Server>> Server::start(ServerOptions options,
                                                      const std::function<void(Server&)>& add_routes) {
  std::unique_ptr<ServedTls> tls;
  if (!options.tls.certificate.empty()) {
    ASSIGN_OR_RETURN(tls, ServedTls::open(options.tls));
  }
  ASSIGN_OR_RETURN(Listening listening, listen_at(options.listen));
  std::unique_ptr<Server> out(
      new Server(std::make_unique<Impl>(std::move(options), std::move(listening), std::move(tls))));
  if (add_routes) add_routes(*out);
  out->impl_->begin();
  return out;
}

int Server::port() const { return impl_->listening.place.port; }
std::string Server::url() const {
  return impl_->listening.place.url(impl_->tls == nullptr ? "http" : "https");
}

void Server::route(std::string method, std::string_view pattern, Handler handler, Access access) {
  impl_->router.add(std::move(method), pattern, std::move(handler), access);
}

void Server::route_later(std::string method, std::string_view pattern, LaterHandler handler, Access access) {
  impl_->router.add(std::move(method), pattern, {}, access, std::move(handler));
}

Counts Server::counts() const {
  Counts out = impl_->counter.now();
  out.body_bytes = impl_->budget.used();
  out.body_bytes_most = impl_->budget.most();
  return out;
}

void Server::stop() { impl_->stop(); }

}  // namespace doppel::http
