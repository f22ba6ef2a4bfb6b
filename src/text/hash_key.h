#pragma once
// The 128-bit secret that keys every hash of a document. If the hash were public, anyone could craft
// unrelated documents that collide.

#include <cstdint>
#include <string_view>

namespace doppel {

struct HashKey {
  uint64_t low = 0;
  uint64_t high = 0;
  bool operator==(const HashKey&) const = default;

  // Returns an independent 64-bit value for each purpose and number, for example derive("band", 7). The
  // values must never change: stored data depends on them.
  uint64_t derive(std::string_view purpose, uint64_t number = 0) const;
};

// A 64-bit permutation in which every input bit reaches every output bit (two multiplications).
inline uint64_t mix64(uint64_t x) {
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93u;
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93u;
  x ^= x >> 32;
  return x;
}

// Multiplies 64x64 -> 128 bits and xors the two halves: mixes two words with one multiplication.
inline uint64_t fold_multiply(uint64_t a, uint64_t b) {
  __extension__ using uint128 = unsigned __int128;
  uint128 product = static_cast<uint128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// The key of an index in memory that has no key of its own. It is fixed so that runs are reproducible.
inline constexpr HashKey kPublicHashKey{0x646f7070656c2d30, 0x7075626c69636b65};

}  // namespace doppel
