#pragma once
// Primes for hash functions.

#include <cstdint>

namespace doppel::lab {

bool is_prime(uint64_t n);
// The smallest prime that is at least n.
uint64_t prime_from(uint64_t n);

}  // namespace doppel::lab
