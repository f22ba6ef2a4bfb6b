#pragma once
// A small generator whose numbers never change and are the same on every machine, so that a seed identifies a
// corpus.

#include <cstddef>
#include <cstdint>
#include <span>

namespace doppel::oracle {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) { next(); }
  // An independent stream for each (seed, number).
  Random(uint64_t seed, uint64_t number)
      : Random(seed * 0x9e3779b97f4a7c15u ^ (number + 1) * 0xc2b2ae3d27d4eb4fu) {}

  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // In [0, n); n > 0.
  uint64_t below(uint64_t n) {
    __extension__ using uint128 = unsigned __int128;
    return static_cast<uint64_t>((static_cast<uint128>(next()) * n) >> 64);
  }
  uint64_t between(uint64_t low, uint64_t high) { return low + below(high - low + 1); }
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  bool chance(double p) { return unit() < p; }
  template <typename T>
  const T& pick(const T* values, size_t n) {
    return values[below(n)];
  }
  template <typename C>
  const auto& pick(const C& values) {
    return values[below(values.size())];
  }

 private:
  uint64_t state_;
};

}  // namespace doppel::oracle
