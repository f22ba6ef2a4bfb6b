#pragma once
// Controls a daemon by signals: SIGTERM and SIGINT shut it down in order, SIGHUP makes it look at its
// settings again. A thread waits for the signals, so there are no signal handlers.

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "files/byte_stream.h"

namespace doppel {

struct SignalOptions {
  // The time limit of an orderly shutdown. A process that takes longer exits with `timeout_code`.
  std::chrono::milliseconds shutdown_timeout{30'000};
  int timeout_code = 3;
  // The exit code after a second SIGTERM or SIGINT, which ends the process at once. The next start repeats
  // the uncommitted work.
  int second_code = 130;
  // Called for SIGHUP, on the signal thread.
  std::function<void()> reload = [] {};
};

class Signals {
 public:
  // Blocks the signals, so that they wait until a Signals is created. A daemon's command calls it first: an
  // earlier signal kills the process.
  static void hold();
  // Create it before any other thread starts, because other threads must not receive the signals. There may
  // be one at a time. From here on SIGPIPE and SIGXFSZ are ignored: write() returns an error instead.
  explicit Signals(SignalOptions options);
  // Destroy it after everything else, because it enforces the shutdown's time limit until then.
  ~Signals();

  // Whether a signal has asked for the end.
  bool stop() const { return stop_.load(std::memory_order_relaxed); }
  // Begins the end for another reason, such as an error. The same time limit applies; a process that takes
  // longer exits with `timeout_code`.
  void ends(int timeout_code);

 private:
  void run();

  SignalOptions options_;
  std::atomic<bool> stop_ = false;
  std::atomic<bool> ends_ = false;
  std::atomic<int> timeout_code_;
  std::atomic<bool> done_ = false;
  Fd signals_, wake_;
  std::thread thread_;
};

}  // namespace doppel
