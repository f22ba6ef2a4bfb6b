#pragma once
// Addresses and ports of this machine, for tests.

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <random>
#include <stdexcept>

namespace doppel {

inline sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

// Returns a port on which nobody listens. It lies below the ports that the system gives to connections, so
// none of them takes it before the server does.
inline int free_port() {
  std::random_device random;
  for (int i = 0; i < 1000; ++i) {
    const int port = 10'000 + static_cast<int>(random() % 5'000);
    const int probe = ::socket(AF_INET, SOCK_STREAM, 0);
    const sockaddr_in address = loopback(port);
    const bool free = ::bind(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    ::close(probe);
    if (free) return port;
  }
  throw std::runtime_error("no port is free");
}

}  // namespace doppel
