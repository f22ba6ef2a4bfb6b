#pragma once
// Fills an index before a benchmark.

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "engine/engine.h"

namespace doppel {

inline constexpr uint32_t kPrints = 18;  // of a web page

inline uint64_t some_print(uint64_t number) { return mix64(number + 1) >> (64 - kPrintBits) | 1; }

// Originals that no document is similar to.
inline void prefill(Engine& engine, uint64_t count) {
  constexpr size_t kStep = 512;
  const auto num_perm = static_cast<size_t>(engine.options().scheme.num_perm);
  Work work;
  MatchCounters counters;
  uint64_t state = 1;
  for (uint64_t at = 0; at < count; at += kStep) {
    const size_t n = std::min<uint64_t>(kStep, count - at);
    work.resize(n, engine.options());
    for (size_t i = 0; i < n * num_perm; i += 8) {
      state = mix64(state + 0x9e3779b97f4a7c15u);
      std::memcpy(&work.sign.slices[i], &state, 8);
    }
    for (size_t i = 0; i < n; ++i) {
      SignedDocument& document = work.sign.documents[i];
      document.content = Content::shingled;
      document.digest = {mix64(at + i), ~(at + i)};
      document.prints.clear();
      for (uint32_t p = 0; engine.options().scheme.passage != 0 && p < kPrints; ++p)
        document.prints.push_back(
            {.key = some_print((at + i) * kPrints + p), .position = 25 * p, .number = p, .stored = true});
    }
    if (!engine.match(work, 0, n, counters).ok() || !engine.resolve(work).ok()) std::abort();
  }
}

}  // namespace doppel
