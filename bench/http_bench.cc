// The HTTP server alone: requests a second of clients on loopback that send 4 KB and get them back, with slow
// clients beside them; memory for many bodies at once.
//
//   http_bench [CONNECTIONS [SLOW [SECONDS]]]
//
// Without arguments: 1, 64 and 1,000 connections, 64 beside 200 slow ones, a connection for each request, and
// 30 bodies of 16 MB. CLOSE=1 in the environment opens a connection for each request, as servers without
// keep-alive do.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "http/server.h"

namespace {

using Clock = std::chrono::steady_clock;
using doppel::http::Request;
using doppel::http::Response;
using doppel::http::Server;

int connect_to(int port) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) std::perror("connect");
  return fd;
}

void send_all(int fd, const std::string& text) {
  for (size_t sent = 0; sent < text.size();) {
    const ssize_t n = ::send(fd, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) return;
    sent += static_cast<size_t>(n);
  }
}

std::string request(size_t bytes, bool close) {
  return "POST /echo HTTP/1.1\r\nHost: localhost\r\n" + std::string(close ? "Connection: close\r\n" : "") +
         "Content-Length: " + std::to_string(bytes) + "\r\n\r\n" + std::string(bytes, 'x');
}

struct One {
  int fd = -1;
  Clock::time_point since;
  size_t got = 0, wanted = 0;
};

void run(int port, size_t connections, size_t slow, double seconds, bool close) {
  const std::string text = request(4096, close);
  std::vector<int> dripping;
  for (size_t i = 0; i < slow; ++i) {
    dripping.push_back(connect_to(port));
    send_all(dripping.back(), "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nx");
  }
  std::vector<One> all(connections);
  std::vector<pollfd> fds(connections);
  std::vector<double> times;
  const auto ask = [&](size_t i) {
    if (all[i].fd < 0) all[i].fd = connect_to(port);
    all[i].since = Clock::now();
    all[i].got = all[i].wanted = 0;
    send_all(all[i].fd, text);
    fds[i] = {all[i].fd, POLLIN, 0};
  };
  for (size_t i = 0; i < connections; ++i) ask(i);
  std::vector<char> buffer(65536);
  const Clock::time_point begin = Clock::now();
  const Clock::time_point end =
      begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  while (Clock::now() < end) {
    ::poll(fds.data(), fds.size(), 1000);
    for (size_t i = 0; i < connections; ++i) {
      if (fds[i].revents == 0) continue;
      const ssize_t n = ::recv(all[i].fd, buffer.data(), buffer.size(), 0);
      if (n > 0 && all[i].wanted == 0) {
        const std::string_view head(buffer.data(), static_cast<size_t>(n));
        const size_t at = head.find("\r\n\r\n");
        if (at != std::string_view::npos) all[i].wanted = at + 4 + 4096;
      }
      if (n > 0) all[i].got += static_cast<size_t>(n);
      const bool whole = all[i].wanted > 0 && all[i].got >= all[i].wanted;
      if (n > 0 && (!whole || close)) continue;  // without keep-alive, the end says that it is whole
      if (whole)
        times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - all[i].since).count());
      if (n <= 0) {
        ::close(all[i].fd);
        all[i].fd = -1;
      }
      ask(i);
    }
  }
  const double took = std::chrono::duration<double>(Clock::now() - begin).count();
  for (const One& one : all) ::close(one.fd);
  for (const int fd : dripping) ::close(fd);
  std::sort(times.begin(), times.end());
  const auto at = [&](double part) {
    return times.empty() ? 0 : times[static_cast<size_t>(part * static_cast<double>(times.size() - 1))];
  };
  std::printf("%5zu connections, %3zu slow, %s: %6.0f requests/s, p50 %.2f ms, p99 %.2f ms\n", connections,
              slow, close ? "one request each" : "keep-alive      ", static_cast<double>(times.size()) / took,
              at(0.5), at(0.99));
}

double resident_mb() {
  std::ifstream status("/proc/self/statm");
  double pages = 0, resident = 0;
  status >> pages >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 1e6;
}

void large_bodies(int port, int count) {
  const std::string piece(1 << 20, 'x');
  const double before = resident_mb();
  std::vector<std::thread> clients;
  for (int i = 0; i < count; ++i) {
    clients.emplace_back([&] {
      const int fd = connect_to(port);
      send_all(fd, "POST /echo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: " +
                       std::to_string(16 << 20) + "\r\n\r\n");
      for (int k = 0; k < 16; ++k) send_all(fd, piece);
      std::vector<char> buffer(65536);
      while (::recv(fd, buffer.data(), buffer.size(), 0) > 0) {
      }
      ::close(fd);
    });
  }
  double most = before;
  std::thread watch([&] {
    for (int i = 0; i < 200; ++i) {
      most = std::max(most, resident_mb());
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  });
  for (std::thread& client : clients) client.join();
  watch.join();
  std::printf("%5d bodies of 16 MB at once: %.0f MB more than before\n", count, most - before);
}

}  // namespace

int main(int argc, char** argv) {
  auto server = Server::start({.listen = "127.0.0.1:0"});
  if (!server.ok()) return 1;
  (*server)->route("POST", "/echo", [](const Request& r) { return Response{.body = std::string(r.body)}; });
  const int port = (*server)->port();
  const bool close = std::getenv("CLOSE") != nullptr;
  const double seconds = argc > 3 ? std::atof(argv[3]) : 3;
  const auto number = [&](int i) { return static_cast<size_t>(argc > i ? std::atoi(argv[i]) : 0); };
  if (argc > 1) {
    run(port, number(1), number(2), seconds, close);
    return 0;
  }
  for (const size_t connections : {1, 64, 1000}) run(port, connections, 0, seconds, close);
  run(port, 64, 200, seconds, close);
  run(port, 64, 0, seconds, true);
  large_bodies(port, 30);
  return 0;
}
