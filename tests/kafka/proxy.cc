#include "kafka/proxy.h"

#include <fmt/format.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "loopback.h"

namespace doppel::testing {
namespace {

bool read_exactly(int fd, char* to, size_t size) {
  while (size > 0) {
    const ssize_t n = recv(fd, to, size, 0);
    if (n <= 0) return false;
    to += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

bool write_all(int fd, const std::string& bytes) {
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t n = send(fd, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    if (n <= 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

// Reads a request or an answer, including its length. Empty: the connection ended.
std::string read_frame(int fd) {
  uint32_t length = 0;
  std::string frame(4, '\0');
  if (!read_exactly(fd, frame.data(), 4)) return "";
  std::memcpy(&length, frame.data(), 4);
  frame.resize(4 + ntohl(length));
  return read_exactly(fd, frame.data() + 4, frame.size() - 4) ? frame : "";
}

template <class T>
T big_endian(const std::string& frame, size_t at) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i)
    value = static_cast<T>((value << 8) | static_cast<uint8_t>(frame[at + i]));
  return value;
}

// If the protocol names a broker, a string is followed by the port as four bytes.
void rewrite_addresses(std::string& frame, int from_port, int to_port) {
  const auto named = [](int port) {
    std::string out = "127.0.0.1";
    for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>((port >> shift) & 0xff);
    return out;
  };
  const std::string from = named(from_port), to = named(to_port);
  for (size_t at = frame.find(from); at != std::string::npos; at = frame.find(from, at + to.size()))
    frame.replace(at, to.size(), to);
}

// Returns where the frame names this topic, after its length (one more in the compact form); npos: nowhere.
size_t find_topic(const std::string& frame, const std::string& topic) {
  for (size_t at = frame.find(topic); at != std::string::npos; at = frame.find(topic, at + 1)) {
    const auto length = static_cast<uint8_t>(frame[at - 1]);
    if (length == topic.size() || length == topic.size() + 1) return at;
  }
  return std::string::npos;
}

}  // namespace

struct Proxy::Connection {
  int client = -1, broker = -1;
  std::optional<int32_t> swallow;  // instead of passing on the answer with this number, cuts everything
  std::optional<int32_t> act_at;   // calls act_() before it passes on the answer with this number
  std::thread from_client, from_broker;
  void shut() const {
    shutdown(client, SHUT_RDWR);
    shutdown(broker, SHUT_RDWR);
  }
};

Proxy::Proxy(int broker_port) : broker_port_(broker_port) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof(address);
  auto* plain = reinterpret_cast<sockaddr*>(&address);
  if (bind(listener_, plain, size) != 0 || listen(listener_, 64) != 0 ||
      getsockname(listener_, plain, &size) != 0)
    throw std::runtime_error("the proxy cannot listen");
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { accept_loop(); });
}

Proxy::~Proxy() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    cut();
    changed_.notify_all();
  }
  shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  for (const auto& c : connections_) {
    c->from_client.join();
    c->from_broker.join();
    close(c->client);
    close(c->broker);
  }
  close(listener_);
}

std::string Proxy::bootstrap() const { return fmt::format("127.0.0.1:{}", port_); }

void Proxy::cut_before(Api api) {
  const std::lock_guard lock(mutex_);
  done_ = false;
  before_ = api;
}

void Proxy::cut_after(Api api) {
  const std::lock_guard lock(mutex_);
  done_ = false;
  after_ = api;
}

void Proxy::act_after(Api api, std::function<void()> act) {
  const std::lock_guard lock(mutex_);
  done_ = false;
  acts_after_ = api;
  act_ = std::move(act);
}

void Proxy::refuse_produce(const std::string& topic) {
  const std::lock_guard lock(mutex_);
  done_ = false;
  refused_topic_ = topic;
}

void Proxy::delay(Api api, std::chrono::milliseconds time) {
  const std::lock_guard lock(mutex_);
  delayed_ = api;
  delay_ = time;
}

bool Proxy::await(int seconds) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::seconds(seconds), [this] { return done_; });
}

void Proxy::set_down(bool down) {
  const std::lock_guard lock(mutex_);
  down_ = down;
  if (down) cut();
}

int Proxy::seen(Api api) {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(std::count(seen_.begin(), seen_.end(), static_cast<int16_t>(api)));
}

void Proxy::cut() {
  for (const auto& c : connections_) c->shut();
}

void Proxy::accept_loop() {
  while (true) {
    const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    const std::lock_guard lock(mutex_);
    if (client < 0 || ending_) {
      if (client >= 0) close(client);
      return;
    }
    const int broker = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = loopback(broker_port_);
    if (down_ || connect(broker, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
      close(client);
      close(broker);
      continue;
    }
    for (const int fd : {client, broker}) {
      const int on = 1;
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    }
    connections_.push_back(std::make_unique<Connection>());
    Connection& c = *connections_.back();
    c.client = client;
    c.broker = broker;
    c.from_client = std::thread([this, &c] { serve_client(c); });
    c.from_broker = std::thread([this, &c] { serve_broker(c); });
  }
}

// Serves requests: length, then kind, version and number.
void Proxy::serve_client(Connection& connection) {
  std::string held;
  while (true) {
    std::string frame = read_frame(connection.client);
    if (frame.size() < 12) break;
    const auto api = big_endian<int16_t>(frame, 4);
    {
      std::unique_lock lock(mutex_);
      if (delayed_ && static_cast<int16_t>(*delayed_) == api)
        changed_.wait_for(lock, delay_, [this] { return ending_; });
      seen_.push_back(api);
      if (before_ && static_cast<int16_t>(*before_) == api) {
        before_.reset();
        done_ = true;
        down_ = down_ || stay_down_;
        cut();
        changed_.notify_all();
        break;
      }
      if (after_ && static_cast<int16_t>(*after_) == api) {
        after_.reset();
        connection.swallow = big_endian<int32_t>(frame, 8);
      }
      if (acts_after_ && static_cast<int16_t>(*acts_after_) == api) {
        acts_after_.reset();
        connection.act_at = big_endian<int32_t>(frame, 8);
      }
      if (!refused_topic_.empty() && api == static_cast<int16_t>(Api::produce)) {
        const size_t at = find_topic(frame, refused_topic_);
        if (at != std::string::npos && held.empty()) {
          frame[at] = frame[at] == 'x' ? 'y' : 'x';
          held = std::move(frame);
          continue;
        }
        if (at != std::string::npos) {
          frame.insert(0, std::exchange(held, ""));
          refused_topic_.clear();
          done_ = true;
          changed_.notify_all();
        }
      }
      if (!held.empty()) {
        held += frame;
        continue;
      }
    }
    if (!write_all(connection.broker, frame)) break;
  }
  connection.shut();
}

// Serves answers: length, then the number of the request.
void Proxy::serve_broker(Connection& connection) {
  while (true) {
    std::string frame = read_frame(connection.broker);
    if (frame.size() < 8) break;
    {
      const std::lock_guard lock(mutex_);
      if (connection.swallow == big_endian<int32_t>(frame, 4)) {
        done_ = true;
        down_ = down_ || stay_down_;
        cut();
        changed_.notify_all();
        break;
      }
      if (connection.act_at == big_endian<int32_t>(frame, 4)) {
        connection.act_at.reset();
        act_();
        done_ = true;
        changed_.notify_all();
      }
    }
    rewrite_addresses(frame, broker_port_, port_);
    if (!write_all(connection.client, frame)) break;
  }
  connection.shut();
}

}  // namespace doppel::testing
