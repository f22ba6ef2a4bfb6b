// A client that sends documents to a service on loopback and waits for their verdicts; bench/http runs it.
//
//   insert_bench PORT FILE.jsonl [CONNECTIONS [BATCH [REQUESTS [PATH]]]]
//
// Each connection sends the next BATCH lines of the file when it has heard about the ones before: one line as
// application/json, more as application/x-ndjson. Prints one JSON object: what a second took, what was heard,
// and the time that a request took. One thread does it all, so that the service has the other processors.

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "memory_run.h"

namespace {

[[noreturn]] void die(const std::string& why) {
  std::fprintf(stderr, "insert_bench: %s\n", why.c_str());
  std::exit(1);
}

struct Client {
  int fd = -1;
  double since = 0;
  std::string head, answer;
  std::string_view body;
  size_t sent = 0, whole = 0;  // whole: length of the answer, when its head is there
};

class Load {
 public:
  Load(int port, std::string_view file, size_t batch, size_t requests, std::string path)
      : port_(port), left_(file), batch_(batch), requests_(requests), path_(std::move(path)) {}

  void run(size_t connections) {
    poll_ = ::epoll_create1(EPOLL_CLOEXEC);
    clients_.resize(connections);
    for (Client& client : clients_) open(client);
    begin_ = doppel::wall();
    for (Client& client : clients_) next(client);
    std::array<epoll_event, 256> events{};
    while (busy_ > 0) {
      const int n = ::epoll_wait(poll_, events.data(), static_cast<int>(events.size()), 60'000);
      if (n == 0) die("no answer for a minute");
      for (int i = 0; i < n; ++i) {
        Client& client = clients_[events[static_cast<size_t>(i)].data.u32];
        if ((events[static_cast<size_t>(i)].events & EPOLLIN) != 0) {
          receive(client);
        } else {
          send(client);
        }
      }
    }
    took_ = doppel::wall() - begin_;
  }

  void print() {
    std::sort(times_.begin(), times_.end());
    const auto ms = [&](double part) {
      return times_.empty()
                 ? 0
                 : 1e3 * times_[static_cast<size_t>(part * static_cast<double>(times_.size() - 1))];
    };
    std::printf(
        "{\"documents\": %zu, \"lines\": %zu, \"copies\": %zu, \"bytes\": %zu, \"seconds\": %.4f, "
        "\"cpu\": %.4f, \"p50_ms\": %.4f, \"p99_ms\": %.4f, \"max_ms\": %.4f}\n",
        documents_, lines_, copies_, bytes_, took_, doppel::cpu(), ms(0.5), ms(0.99), ms(1));
  }

 private:
  void open(Client& client) {
    client.fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<uint16_t>(port_));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(client.fd, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) die("cannot connect");
    ::fcntl(client.fd, F_SETFL, O_NONBLOCK);
    epoll_event event{.events = EPOLLIN, .data = {.u32 = static_cast<uint32_t>(&client - clients_.data())}};
    ::epoll_ctl(poll_, EPOLL_CTL_ADD, client.fd, &event);
  }

  void await(Client& client, uint32_t what) {
    epoll_event event{.events = what, .data = {.u32 = static_cast<uint32_t>(&client - clients_.data())}};
    ::epoll_ctl(poll_, EPOLL_CTL_MOD, client.fd, &event);
  }

  // The next lines, without a copy. False: there are no more.
  bool take(std::string_view& body) {
    if (requests_ == 0 || left_.empty()) return false;
    --requests_;
    size_t end = 0, count = 0;
    for (; count < batch_ && end < left_.size(); ++count) {
      const size_t at = left_.find('\n', end);
      end = at == std::string_view::npos ? left_.size() : at + 1;
    }
    body = left_.substr(0, end);
    left_.remove_prefix(end);
    documents_ += count;
    bytes_ += end;
    return true;
  }

  void next(Client& client) {
    if (!take(client.body)) return;
    ++busy_;
    client.head = "POST " + path_ + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/" +
                  (batch_ == 1 ? "json" : "x-ndjson") +
                  "\r\nContent-Length: " + std::to_string(client.body.size()) + "\r\n\r\n";
    client.sent = client.whole = 0;
    client.answer.clear();
    client.since = doppel::wall();
    send(client);
  }

  void send(Client& client) {
    const size_t all = client.head.size() + client.body.size();
    while (client.sent < all) {
      const size_t of_head = std::min(client.sent, client.head.size()), of_body = client.sent - of_head;
      std::array<iovec, 2> parts{
          {{client.head.data() + of_head, client.head.size() - of_head},
           {const_cast<char*>(client.body.data()) + of_body, client.body.size() - of_body}}};
      msghdr message{};
      message.msg_iov = parts.data();
      message.msg_iovlen = parts.size();
      const ssize_t n = ::sendmsg(client.fd, &message, MSG_NOSIGNAL);
      if (n < 0 && errno == EAGAIN) return await(client, EPOLLIN | EPOLLOUT);
      if (n <= 0) die("the service closed a connection");
      const bool waited = client.sent > 0;
      client.sent += static_cast<size_t>(n);
      if (waited && client.sent == all) await(client, EPOLLIN);
    }
  }

  void receive(Client& client) {
    const ssize_t n = ::recv(client.fd, buffer_.data(), buffer_.size(), 0);
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) die("the service closed a connection; it said: " + client.answer);
    client.answer.append(buffer_.data(), static_cast<size_t>(n));
    if (client.whole == 0) {
      const size_t end = client.answer.find("\r\n\r\n");
      if (end == std::string::npos) return;
      if (client.answer.compare(8, 5, " 200 ") != 0) die(client.answer);
      std::string head = client.answer.substr(0, end);
      std::transform(head.begin(), head.end(), head.begin(), [](unsigned char c) { return std::tolower(c); });
      const size_t length = head.find("content-length:");
      if (length == std::string::npos) die("an answer without its length: " + client.answer);
      client.whole = end + 4 + std::strtoull(head.c_str() + length + 15, nullptr, 10);
    }
    if (client.answer.size() < client.whole) return;
    times_.push_back(doppel::wall() - client.since);
    --busy_;
    count(client.answer);
    next(client);
  }

  void count(std::string_view answer) {
    answer.remove_prefix(answer.find("\r\n\r\n") + 4);
    while (!answer.empty()) {
      const std::string_view line = answer.substr(0, answer.find('\n'));
      ++lines_;
      copies_ += line.find("\"duplicate-of\"") != std::string_view::npos ? 1 : 0;
      answer.remove_prefix(std::min(line.size() + 1, answer.size()));
    }
  }

  const int port_;
  std::string_view left_;
  const size_t batch_;
  size_t requests_;
  const std::string path_;
  int poll_ = -1;
  std::vector<Client> clients_;
  std::vector<char> buffer_ = std::vector<char>(256 << 10);
  std::vector<double> times_;
  size_t busy_ = 0, documents_ = 0, lines_ = 0, copies_ = 0, bytes_ = 0;
  double begin_ = 0, took_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) die("PORT FILE.jsonl [CONNECTIONS [BATCH [REQUESTS [PATH]]]]");
  const auto number = [&](int i, size_t otherwise) {
    return argc > i ? static_cast<size_t>(std::strtoull(argv[i], nullptr, 10)) : otherwise;
  };
  const int fd = ::open(argv[2], O_RDONLY | O_CLOEXEC);
  struct stat info{};
  if (fd < 0 || ::fstat(fd, &info) != 0 || info.st_size == 0)
    die(std::string(argv[2]) + " cannot be read, or is empty");
  const auto size = static_cast<size_t>(info.st_size);
  void* const bytes = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
  if (bytes == MAP_FAILED) die(std::string(argv[2]) + " cannot be mapped");
  Load load(std::atoi(argv[1]), {static_cast<const char*>(bytes), size}, number(4, 1), number(5, SIZE_MAX),
            argc > 6 ? argv[6] : "/v1/documents");
  load.run(number(3, 64));
  load.print();
  return 0;
}
