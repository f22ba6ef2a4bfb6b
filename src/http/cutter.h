#pragma once
// Cuts off clients that take too long. civetweb's time-out restarts with every byte of a body, so a client
// that sends one now and then would hold a thread for ever; and it does not say which socket belongs to which
// client.

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

  // While a Watch lives, its socket is shut down (not closed) once the time is over. The socket must stay
  // open at least as long as the Watch.
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
  std::map<std::pair<Clock::time_point, uint64_t>, int> watched_;  // by time, then number -> socket
  std::map<uint64_t, Clock::time_point> times_;
  uint64_t next_ = 1;
  bool stop_ = false;
  std::thread thread_;
};

// The socket of this process that is connected to that peer and has that local port; -1: none.
int find_socket(const std::string& peer, int peer_port, int local_port);

}  // namespace doppel::http
