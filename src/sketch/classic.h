#pragma once
// Classic MinHash: slot i is the minimum over all shingles of a 64-bit hash with the i-th salt. The loop is
// compiled once for each instruction set; internal linkage keeps the copies apart.

#include <cstddef>
#include <cstdint>

namespace doppel {

void classic_update_scalar(uint64_t* slots, int k, const uint64_t* x, size_t n, const uint64_t* salts);
void classic_update_avx2(uint64_t* slots, int k, const uint64_t* x, size_t n, const uint64_t* salts);
void classic_update_avx512(uint64_t* slots, int k, const uint64_t* x, size_t n, const uint64_t* salts);

namespace {

// Eight slots at a time stay in registers while the shingles stream past.
inline void classic_loop(uint64_t* slots, int k, const uint64_t* x, size_t n, const uint64_t* salts) {
  constexpr int kLanes = 8;
  for (int first = 0; first < k; first += kLanes) {
    const int lanes = k - first < kLanes ? k - first : kLanes;
    uint64_t least[kLanes];
    uint64_t salt[kLanes];
    for (int i = 0; i < kLanes; ++i) {
      least[i] = i < lanes ? slots[first + i] : 0;
      salt[i] = i < lanes ? salts[first + i] : 0;
    }
    for (size_t j = 0; j < n; ++j) {
      for (int i = 0; i < kLanes; ++i) {
        uint64_t h = x[j] ^ salt[i];
        h ^= h >> 32;
        h *= 0xd6e8feb86659fd93u;
        h ^= h >> 32;
        h *= 0xd6e8feb86659fd93u;
        h ^= h >> 32;
        least[i] = h < least[i] ? h : least[i];
      }
    }
    for (int i = 0; i < lanes; ++i) slots[first + i] = least[i];
  }
}

}  // namespace
}  // namespace doppel
