#pragma once
// How signals control a daemon: SIGTERM and SIGINT end it in order, SIGHUP makes it look at
// its settings again. One thread waits for signals; nothing is done in a handler.

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "files/fd.h"

namespace doppel {

struct SignalOptions {
  // Of an orderly end. A process that takes longer ends itself with `timeout_code`.
  std::chrono::milliseconds shutdown_timeout{30'000};
  int timeout_code = 3;
  // A second SIGTERM or SIGINT ends the process at once with it. What is committed stays, the rest is done
  // again at the next start.
  int second_code = 130;
  // SIGHUP; on the thread of the signals.
  std::function<void()> reload = [] {};
};

class Signals {
 public:
  // The first call of a daemon's command: a signal that comes from here on waits until a Signals is made. One
  // that comes earlier kills the process.
  static void hold();
  // Before any other thread is started: they must not take the signals. At most one at a time; SIGPIPE and
  // SIGXFSZ are ignored from here on, so that they come back as errors of write().
  explicit Signals(SignalOptions options);
  // The first to be made, the last to be destroyed: until then the end is waited for.
  ~Signals();

  // Someone asked for the end.
  bool stop() const { return stop_.load(std::memory_order_relaxed); }
  // The end begins for another reason (an error): it must not take longer than the timeout either, and ends
  // with `timeout_code` if it does.
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
