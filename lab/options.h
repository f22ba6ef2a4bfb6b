#pragma once
// The options of an experiment, and a stopwatch.

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace doppel::lab {

// quick: seconds, for checks; normal: minutes for all experiments; full: the sizes and runs of the studies.
enum class Size { quick, normal, full };

struct LabOptions {
  uint64_t seed = 1;
  int runs = 0;      // 0: by the size
  double scale = 0;  // share of the study's number of documents; 0: by the size
  Size size = Size::normal;
  int threads = 2;
  bool wide = false;                          // 64-bit arithmetic where the study's wraps at 32 bits
  std::string data;                           // the user's folder or file; empty: generated documents
  std::string truth;                          // file with the true pairs of `data`
  std::vector<std::pair<int, int>> bandings;  // rows and bands of the curves to draw; empty: the usual ones
  std::string command;                        // the command line, for the captions
  std::function<void(std::string_view)> progress = [](std::string_view) {};

  template <typename T>
  T by_size(T quick, T normal, T full) const {
    return size == Size::quick ? quick : size == Size::normal ? normal : full;
  }
  int runs_or(int quick, int normal, int full) const {
    return runs > 0 ? runs : by_size(quick, normal, full);
  }
  double scale_or(double quick, double normal, double full) const {
    return scale > 0 ? scale : by_size(quick, normal, full);
  }
};

class Stopwatch {
 public:
  Stopwatch() : start_(std::chrono::steady_clock::now()) {}
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_;
};

}  // namespace doppel::lab
