#pragma once
// A client that sends exactly the bytes that a test wants, well-formed or not.

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace doppel::testing {

class RawClient {
 public:
  // `from` chooses the client's address, 127.0.0.`from`.
  explicit RawClient(int port, int from = 1) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in own{};
    own.sin_family = AF_INET;
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + static_cast<uint32_t>(from));
    EXPECT_EQ(::bind(fd_, reinterpret_cast<sockaddr*>(&own), sizeof own), 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<uint16_t>(port));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
  }
  RawClient(RawClient&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  RawClient& operator=(RawClient&&) = delete;
  ~RawClient() {
    if (fd_ >= 0) ::close(fd_);
  }
  int fd() const { return fd_; }

  // Returns false once the other side has closed. Looks for that while it waits: if the other side has closed
  // and its window is zero, the kernel of a client that only sends finds out after 106 s.
  bool send(std::string_view bytes) const {
    while (!bytes.empty()) {
      pollfd waiting{fd_, POLLOUT | POLLRDHUP, 0};
      if (::poll(&waiting, 1, 60'000) <= 0 || waiting.revents != POLLOUT) return false;
      const ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(n));
    }
    return true;
  }
  // Says that nothing more will be sent, so the server closes when it has answered.
  void finish() const { ::shutdown(fd_, SHUT_WR); }
  // Returns everything that arrives until the other side closes, or a minute has passed.
  std::string receive() const {
    std::string out;
    std::array<char, 65536> piece{};
    for (;;) {
      pollfd waiting{fd_, POLLIN, 0};
      if (::poll(&waiting, 1, 60'000) <= 0) return out + " (no end)";
      const ssize_t n = ::recv(fd_, piece.data(), piece.size(), 0);
      if (n <= 0) return out;
      out.append(piece.data(), static_cast<size_t>(n));
    }
  }

 private:
  int fd_;
};

// Sends these bytes and returns the answer.
inline std::string ask(int port, std::string_view bytes) {
  const RawClient client(port);
  client.send(bytes);
  client.finish();
  return client.receive();
}

inline std::string get(int port, const std::string& path, const std::string& headers = "") {
  return ask(port, "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n");
}

inline std::string post(int port, const std::string& path, const std::string& body,
                        const std::string& headers = "", const std::string& method = "POST") {
  return ask(port, method + " " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " +
                       std::to_string(body.size()) + "\r\n" + headers + "\r\n" + body);
}

inline int status_of(const std::string& response) {
  return response.starts_with("HTTP/1.1 ") ? std::stoi(response.substr(9, 3)) : 0;
}
inline std::string body_of(const std::string& response) {
  const size_t end = response.find("\r\n\r\n");
  return end == std::string::npos ? "" : response.substr(end + 4);
}

}  // namespace doppel::testing
