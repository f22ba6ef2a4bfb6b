#pragma once
// Random numbers for experiments. The numbers of a seed are the same on all machines and never change.

#include <cmath>
#include <cstdint>
#include <numbers>
#include <utility>
#include <vector>

namespace doppel::lab {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) { next(); }
  // Independent streams for different (seed, number).
  Random(uint64_t seed, uint64_t number)
      : Random(seed * 0x9e3779b97f4a7c15u ^ (number + 1) * 0xc2b2ae3d27d4eb4fu) {}

  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // A number in [0, n); n > 0.
  uint64_t below(uint64_t n) {
    __extension__ using uint128 = unsigned __int128;
    return static_cast<uint64_t>((static_cast<uint128>(next()) * n) >> 64);
  }
  // A number in [low, high].
  uint64_t between(uint64_t low, uint64_t high) { return low + below(high - low + 1); }
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  double uniform(double low, double high) { return low + (high - low) * unit(); }
  double normal(double mean, double deviation) {
    const double radius = std::sqrt(-2 * std::log(1 - unit()));
    return mean + deviation * radius * std::cos(2 * std::numbers::pi * unit());
  }
  template <typename T>
  void shuffle(std::vector<T>& values) {
    for (size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[below(i)]);
  }

 private:
  uint64_t state_;
};

}  // namespace doppel::lab
