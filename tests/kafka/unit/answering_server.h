#pragma once
// A server on a port of this machine that is no broker.

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <string>
#include <thread>
#include <utility>

namespace doppel::kafka_test {

// Answers the first bytes of each connection, then closes it.
class AnsweringServer {
 public:
  using Answer = std::function<std::string(const std::string& asked)>;

  explicit AnsweringServer(Answer answer)
      : socket_(::socket(AF_INET, SOCK_STREAM, 0)), answer_(std::move(answer)) {
    sockaddr_in address{
        .sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(socket_, any, size), 0);
    EXPECT_EQ(::listen(socket_, 8), 0);
    EXPECT_EQ(::getsockname(socket_, any, &size), 0);
    address_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    thread_ = std::thread([this] { serve(); });
  }
  ~AnsweringServer() {
    ::shutdown(socket_, SHUT_RDWR);
    thread_.join();
    ::close(socket_);
  }
  const std::string& address() const { return address_; }

 private:
  void serve() const {
    for (int client = 0; (client = ::accept(socket_, nullptr, nullptr)) >= 0; ::close(client)) {
      std::array<char, 200> asked{};
      const ssize_t n = ::recv(client, asked.data(), asked.size(), 0);
      if (n <= 0) continue;
      const std::string answer = answer_(std::string(asked.data(), static_cast<size_t>(n)));
      EXPECT_EQ(::send(client, answer.data(), answer.size(), MSG_NOSIGNAL),
                static_cast<ssize_t>(answer.size()));
    }
  }

  const int socket_;
  const Answer answer_;
  std::string address_;
  std::thread thread_;
};

}  // namespace doppel::kafka_test
