#pragma once
// Asks for a cache line.

namespace doppel {

// g++ takes a function that does nothing but __builtin_prefetch for one without effects and drops calls of
// it that it did not inline. The empty assembly is an effect.
[[gnu::always_inline]] static inline void fetch(const void* p) {
  __builtin_prefetch(p);
  asm volatile("" : : "r"(p));
}

}  // namespace doppel
