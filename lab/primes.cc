#include "lab/primes.h"

#include <algorithm>

namespace doppel::lab {

bool is_prime(uint64_t n) {
  if (n < 4) return n > 1;
  if (n % 2 == 0) return false;
  for (uint64_t d = 3; d * d <= n; d += 2) {
    if (n % d == 0) return false;
  }
  return true;
}

uint64_t prime_from(uint64_t n) {
  n = std::max<uint64_t>(n, 2);
  while (!is_prime(n)) ++n;
  return n;
}

}  // namespace doppel::lab
