#include "http/cutter.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstdlib>
#include <cstring>

namespace doppel::http {

Cutter::Cutter() : thread_([this] { run(); }) {}

Cutter::~Cutter() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Cutter::run() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    if (watched_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const auto first = watched_.begin();
    if (first->first.first > Clock::now()) {
      const Clock::time_point until = first->first.first;
      changed_.wait_until(lock, until);
      continue;
    }
    // ~Watch() needs the lock, so the socket is still open and the number still belongs to it.
    ::shutdown(first->second, SHUT_RDWR);
    times_.erase(first->first.second);
    watched_.erase(first);
  }
}

Cutter::Watch::Watch(Cutter& cutter, int fd, std::chrono::milliseconds time) : cutter_(cutter) {
  if (fd < 0) return;
  const Clock::time_point until = Clock::now() + time;
  {
    const std::lock_guard lock(cutter_.mutex_);
    id_ = cutter_.next_++;
    cutter_.times_[id_] = until;
    cutter_.watched_[{until, id_}] = fd;
  }
  cutter_.changed_.notify_one();
}

Cutter::Watch::~Watch() {
  if (id_ == 0) return;
  const std::lock_guard lock(cutter_.mutex_);
  const auto found = cutter_.times_.find(id_);
  if (found == cutter_.times_.end()) return;
  cutter_.watched_.erase({found->second, id_});
  cutter_.times_.erase(found);
}

namespace {

struct End {
  std::string address;
  int port = -1;
};

End read_end(const sockaddr_storage& from) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  End out;
  if (from.ss_family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, &from, sizeof in);
    out.port = ntohs(in.sin_port);
    ::inet_ntop(AF_INET, &in.sin_addr, text.data(), text.size());
  } else if (from.ss_family == AF_INET6) {
    sockaddr_in6 in{};
    std::memcpy(&in, &from, sizeof in);
    out.port = ntohs(in.sin6_port);
    ::inet_ntop(AF_INET6, &in.sin6_addr, text.data(), text.size());
  }
  out.address = text.data();
  return out;
}

}  // namespace

int find_socket(const std::string& peer, int peer_port, int local_port) {
  DIR* directory = ::opendir("/proc/self/fd");
  if (directory == nullptr) return -1;
  int found = -1;
  while (const dirent* entry = ::readdir(directory)) {
    if (entry->d_name[0] == '.') continue;
    const int fd = static_cast<int>(std::strtol(entry->d_name, nullptr, 10));
    sockaddr_storage far{}, near{};
    socklen_t far_size = sizeof far, near_size = sizeof near;
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&far), &far_size) != 0) continue;
    const End end = read_end(far);
    if (end.port != peer_port || end.address != peer) continue;
    if (::getsockname(fd, reinterpret_cast<sockaddr*>(&near), &near_size) != 0) continue;
    if (read_end(near).port != local_port) continue;
    found = fd;
    break;
  }
  ::closedir(directory);
  return found;
}

}  // namespace doppel::http
