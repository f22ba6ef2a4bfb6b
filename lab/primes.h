#pragma once
// Primes for hash functions.

#include <cstdint>

namespace doppel::lab {

bool is_prime(uint64_t n);
// The smallest prime that is at least n.
uint64_t prime_from(uint64_t n);

// Computes v mod n without a division, for many v and one n < 2^32.
class Modulus {
 public:
  explicit Modulus(uint32_t n) : n_(n), inverse_(~uint64_t{0} / n) {}
  uint32_t n() const { return static_cast<uint32_t>(n_); }
  uint32_t of(uint64_t v) const {
    __extension__ using uint128 = unsigned __int128;
    // The estimated quotient is exact or one too small.
    const uint64_t rest = v - static_cast<uint64_t>(static_cast<uint128>(v) * inverse_ >> 64) * n_;
    return static_cast<uint32_t>(rest >= n_ ? rest - n_ : rest);
  }

 private:
  uint64_t n_, inverse_;
};

}  // namespace doppel::lab
