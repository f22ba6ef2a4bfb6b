#pragma once
// A `doppel serve` of a test, which may stop it in every possible way.

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace doppel::testing {

class Daemon {
 public:
  using Seconds = std::chrono::duration<double>;
  using Environment = std::map<std::string, std::string>;

  // Starts the binary with these arguments (`serve --config FILE`), or the program that the variable
  // TESTED_PROGRAM names. The destructor kills it if it still runs, and prints its output if an exception
  // ends the test.
  explicit Daemon(const std::vector<std::string>& arguments, const Environment& environment = {});
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  pid_t pid() const { return pid_; }
  void signal(int number);  // does nothing once it has ended
  // Returns when it is gone: the system ends a process that was writing only some time after the signal.
  void kill() {
    signal(9);
    await_exit();
  }
  void terminate() { signal(15); }

  // Returns the exit code, or 128 + the signal that ended it; nullopt: it still runs after `patience`.
  std::optional<int> await_exit(Seconds patience = Seconds(60));

  // Waits for a line (of stdout or stderr) that contains `part`, after the line that was awaited last.
  // Nullopt: the daemon ended, or `patience` is over.
  std::optional<std::string> await_line(const std::string& part, Seconds patience = Seconds(60));

  // Waits until it is ready. Returns the port of its HTTP server; 0: it ended, or a minute is over.
  int await_http();

  std::string said();  // the whole output so far, for messages of tests

  // The peak of resident memory so far; 0 once it has ended.
  uint64_t peak_bytes() const;

 private:
  void read_output();
  void await_end();

  pid_t pid_ = -1;
  int output_ = -1;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> lines_;
  size_t awaited_ = 0;
  bool output_ended_ = false;
  std::optional<int> exit_;
  std::thread reader_, waiter_;
};

}  // namespace doppel::testing
