#pragma once
// The line on the terminal that shows the progress of a scan.

#include <chrono>
#include <cstdint>
#include <string>

#include "pipeline/pipeline.h"

namespace doppel {

class Progress {
 public:
  // Shows nothing unless stderr is a terminal.
  Progress(const Source& source, const Originals& index, bool wanted);
  ~Progress();

  void update(const Counters& counters);
  // Removes the line, so that other messages can be printed.
  void clear();
  double seconds() const;

 private:
  const Source& source_;
  const Originals& index_;
  bool shown_;
  bool on_screen_ = false;
  std::chrono::steady_clock::time_point start_, last_;
};

std::string human_bytes(uint64_t n);  // such as "1.2 GiB"
std::string human_seconds(double s);  // such as "2 h 03 min"

}  // namespace doppel
