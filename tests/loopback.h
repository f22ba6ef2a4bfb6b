#pragma once
// Addresses and ports of this machine, for tests.

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <random>
#include <stdexcept>
#include <string>

namespace doppel {

inline sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

// Whether the port is this process's until it ends: a name that only one process at a time can have.
// scripts/kafka.d/claimed.py claims the same names.
inline bool claim_port(int port) {
  const std::string name = std::string(1, '\0') + "doppel-port-" + std::to_string(port);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path, name.size());
  const int claim = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (::bind(claim, reinterpret_cast<const sockaddr*>(&address),
             offsetof(sockaddr_un, sun_path) + name.size()) == 0)
    return true;
  ::close(claim);
  return false;
}

// Returns a port on which nobody listens, and which no other test was given. It lies below the ports that the
// system gives to connections, so none of them takes it before the server does.
inline int free_port() {
  std::random_device random;
  for (int i = 0; i < 1000; ++i) {
    const int port = 10'000 + static_cast<int>(random() % 10'000);
    if (!claim_port(port)) continue;
    const int probe = ::socket(AF_INET, SOCK_STREAM, 0);
    const sockaddr_in address = loopback(port);
    const bool free = ::bind(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    ::close(probe);
    if (free) return port;
  }
  throw std::runtime_error("no port is free");
}

}  // namespace doppel
