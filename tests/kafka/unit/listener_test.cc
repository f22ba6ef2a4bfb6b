// Addresses of brokers, and what listens there.
#include "kafka/listener.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <string>
#include <thread>

namespace doppel::kafka {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Listener, AddressesAreHostAndPort) {
  EXPECT_THAT(*split_brokers("a, b:1,[::1]:2,,SASL_SSL://c:3"),
              ElementsAre("a:9092", "b:1", "[::1]:2", "c:3"));
  for (const std::string wrong : {"kafka://a:1", "http://a:1/", "a:", "a:0", "a:65536", "a:x", ":1", "a:1/x",
                                  "::1", "[::1", "[::1]x"}) {
    const auto refused = split_brokers("b:1," + wrong);
    ASSERT_FALSE(refused.ok()) << wrong;
    EXPECT_THAT(std::string(refused.status().message()), HasSubstr("kafka.brokers: " + wrong + " ")) << wrong;
  }
  EXPECT_FALSE(split_brokers(" ,").ok());
}

TEST(Listener, NobodyThereIsSaid) {
  const absl::Status away = reach("127.0.0.1:1", std::chrono::seconds(5));
  EXPECT_TRUE(absl::IsUnavailable(away));
  EXPECT_EQ(away.message(), "127.0.0.1:1 cannot be reached: Connection refused");
}

// Answers the first bytes of each connection, then closes it.
class Server {
 public:
  using Answer = std::function<std::string(const std::string& asked)>;

  explicit Server(Answer answer) : socket_(::socket(AF_INET, SOCK_STREAM, 0)), answer_(std::move(answer)) {
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
  ~Server() {
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

Speaks spoken(const Server::Answer& answer) {
  const Server server(answer);
  const absl::StatusOr<Speaks> speaks = ask_listener(server.address(), std::chrono::seconds(5));
  EXPECT_TRUE(speaks.ok()) << speaks.status();
  return speaks.value_or(Speaks::neither);
}

TEST(Listener, IsKnownByItsAnswer) {
  const std::string length("\0\0\0\6", 4), alert("\x15\3\1\0\2\2\x28", 7);
  // A broker repeats the number of the request.
  EXPECT_EQ(spoken([&](const std::string& asked) { return length + asked.substr(8, 4) + "xy"; }),
            Speaks::plain);
  EXPECT_EQ(spoken([&](const std::string&) { return length + "abcdxy"; }), Speaks::neither);
  EXPECT_EQ(spoken([&](const std::string&) { return std::string(alert); }), Speaks::tls);
  // A listener with TLS may say nothing to a request without it.
  EXPECT_EQ(spoken([&](const std::string& asked) { return asked[0] == 0x16 ? alert : ""; }), Speaks::tls);
  EXPECT_EQ(spoken([](const std::string&) { return "HTTP/1.1 400 Bad Request\r\n\r\n"; }), Speaks::neither);
  EXPECT_EQ(spoken([](const std::string&) { return ""; }), Speaks::neither);
}

}  // namespace
}  // namespace doppel::kafka
