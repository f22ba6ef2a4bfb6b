#pragma once
// The line on the terminal that shows the progress of a scan.

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "pipeline/pipeline.h"

namespace doppel {

// A line that changes, and messages that do not run into it. Any thread may call it.
class StatusLine {
 public:
  // command: "scan", for messages; quiet: shows nothing, not even messages
  StatusLine(std::string command, bool quiet);
  ~StatusLine() { clear(); }

  bool quiet() const { return quiet_; }
  bool on_terminal() const { return terminal_; }  // otherwise there are only messages
  void show(std::string_view text);
  void message(std::string_view text);
  // Removes the line, so that other things can be printed.
  void clear();

 private:
  void clear_locked();
  const std::string command_;
  const bool quiet_, terminal_;
  std::mutex mutex_;
  bool on_screen_ = false;
};

// How many files were found while the input is listed: on a terminal in the line, elsewhere in a message
// after two seconds, and again when that time has doubled.
class ListingProgress {
 public:
  explicit ListingProgress(StatusLine& line) : line_(line) {}
  void update(uint64_t files);

 private:
  using Clock = std::chrono::steady_clock;
  StatusLine& line_;
  uint64_t files_ = 0;
  Clock::time_point start_ = Clock::now(), last_ = start_;
  Clock::duration next_{};  // from the start
};

class Progress {
 public:
  Progress(const Source& source, const Originals& index, StatusLine& line);

  void update(const Counters& counters);
  double seconds() const;

 private:
  const Source& source_;
  const Originals& index_;
  StatusLine& line_;
  std::chrono::steady_clock::time_point start_, last_;
};

std::string human_bytes(uint64_t n);  // such as "1.2 GiB"
std::string human_seconds(double s);  // such as "2 h 03 min"

}  // namespace doppel
