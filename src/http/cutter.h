#pragma once
// Cuts off clients that take too long. civetweb's time-out restarts with every byte of a body, so a client
// that sends a byte now and then would occupy a thread for ever. civetweb does not tell a client's socket
// either, so find_socket() looks for it.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace doppel::http {

class Cutter {
 public:
  Cutter();
  ~Cutter();
  Cutter(const Cutter&) = delete;
  Cutter& operator=(const Cutter&) = delete;

  // Shuts the socket down (but does not close it) if the Watch still exists after `time`. The socket must
  // stay open at least as long as the Watch. With `fd` -1 it does nothing.
  class Watch {
   public:
    Watch(Cutter& cutter, int fd, std::chrono::milliseconds time);
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

   private:
    Cutter& cutter_;
    uint64_t id_ = 0;
  };

 private:
  using Clock = std::chrono::steady_clock;
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::pair<Clock::time_point, uint64_t>, int> watched_;  // (deadline, id of the Watch) -> socket
  std::map<uint64_t, Clock::time_point> times_;                    // id -> deadline
  uint64_t next_ = 1;
  bool stop_ = false;
  std::thread thread_;
};

// Finds this process's socket with the local port that is connected to the peer; -1 if there is none.
int find_socket(const std::string& peer, int peer_port, int local_port);

}  // namespace doppel::http
