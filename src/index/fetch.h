#pragma once
// Prefetches a cache line.

namespace doppel {

// g++ considers a function that only calls __builtin_prefetch free of effects, and drops calls that it does
// not inline. The empty assembly counts as an effect.
[[gnu::always_inline]] static inline void fetch(const void* p) {
  __builtin_prefetch(p);
  asm volatile("" : : "r"(p));
}

}  // namespace doppel
