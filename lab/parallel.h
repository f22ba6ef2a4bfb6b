#pragma once
// Runs a loop over independent items on several threads. The result for an item must not depend on the
// thread.

#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace doppel::lab {

template <typename Body>
void parallel_for(int threads, size_t count, const Body& body) {
  std::atomic<size_t> next{0};
  auto work = [&] {
    for (size_t i = 0; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) body(i);
  };
  std::vector<std::thread> others;
  for (int t = 1; t < threads && static_cast<size_t>(t) < count; ++t) others.emplace_back(work);
  work();
  for (std::thread& other : others) other.join();
}

}  // namespace doppel::lab
