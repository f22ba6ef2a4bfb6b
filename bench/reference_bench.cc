// How fast the textbook signature is: the yardstick for text to signature.

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <string>

#include "reference.h"

namespace {

using doppel::reference::MinHash;

// 583 words, 579 shingles, about 3.5 KB.
std::string document() {
  std::string text;
  uint64_t state = 7;
  for (int word = 0; word < 583; ++word) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    for (uint64_t n = 2 + (state >> 60) % 8, bits = state; n > 0; --n, bits >>= 5) {
      text.push_back(static_cast<char>('a' + (bits >> 8) % 26));
    }
    text.push_back(' ');
  }
  return text;
}

void text_to_signature(benchmark::State& state) {
  if (doppel::reference::sha1("abc")[0] != 0xa9993e36) std::abort();
  const std::string text = document();
  const MinHash minhash;
  while (state.KeepRunning()) benchmark::DoNotOptimize(minhash.signature(text));
  state.SetItemsProcessed(state.iterations());
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(text.size()));
}
BENCHMARK(text_to_signature)->Unit(benchmark::kMicrosecond);

void prehashed_to_signature(benchmark::State& state) {
  const MinHash minhash;
  while (state.KeepRunning()) {
    std::vector<uint32_t> slots(128, UINT32_MAX);
    for (uint32_t shingle = 0; shingle < 579; ++shingle) minhash.add(shingle * 2654435761u, slots);
    benchmark::DoNotOptimize(slots);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(prehashed_to_signature)->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
