#include "sketch/radix_sort.h"

#include <array>
#include <utility>

#include "base/simd.h"

namespace doppel {
namespace {

// Up to this many values are sorted by insertion.
constexpr size_t kFew = 64;
constexpr size_t kFewForVectors = 8;

void insertion_sort(uint32_t* values, size_t n) {
  for (size_t i = 1; i < n; ++i) {
    uint32_t value = values[i];
    size_t j = i;
    for (; j != 0 && values[j - 1] > value; --j) values[j] = values[j - 1];
    values[j] = value;
  }
}

// Three passes of 11 bits, lowest first; the third writes to `sorted`.
void radix_sort(std::span<const uint32_t> values, PodVector<uint32_t>& sorted) {
  constexpr int kDigit = 11;
  constexpr uint32_t kMask = (1u << kDigit) - 1;
  std::array<std::array<uint32_t, kMask + 1>, 3> starts{};
  for (uint32_t v : values) {
    ++starts[0][v & kMask];
    ++starts[1][v >> kDigit & kMask];
    ++starts[2][v >> 2 * kDigit];
  }
  for (auto& digit : starts) {
    uint32_t sum = 0;
    for (uint32_t& start : digit) sum += std::exchange(start, sum);
  }
  PodVector<uint32_t> between;
  between.resize(values.size());
  sorted.resize(values.size());
  const std::array<const uint32_t*, 3> from = {values.data(), sorted.data(), between.data()};
  const std::array<uint32_t*, 3> to = {sorted.data(), between.data(), sorted.data()};
  for (int pass = 0; pass < 3; ++pass) {
    for (size_t i = 0; i < values.size(); ++i) {
      const uint32_t v = from[pass][i];
      to[pass][starts[pass][v >> (pass * kDigit) & kMask]++] = v;
    }
  }
}

bool has_vectors() { return simd_level() != Simd::scalar; }

#if defined(__x86_64__)
constexpr auto bucket_sort = bucket_sort_avx2;
constexpr auto count_distinct_by_vectors = count_distinct_avx2;
#elif defined(__aarch64__)
constexpr auto bucket_sort = bucket_sort_neon;
constexpr auto count_distinct_by_vectors = count_distinct_neon;
#else
bool bucket_sort(const uint32_t*, size_t, uint32_t*) { return false; }
size_t count_distinct_by_vectors(const uint32_t*, size_t) { return 0; }
#endif

}  // namespace

void sort_tops(std::span<const uint32_t> tops, PodVector<uint32_t>& sorted) {
  const size_t n = tops.size();
  if (n <= (has_vectors() ? kFewForVectors : kFew)) {
    sorted.assign(tops.begin(), tops.end());
    insertion_sort(sorted.data(), n);
    return;
  }
  if (n <= kBucketSortMost && has_vectors()) {
    sorted.resize(n + kBucketSortRoom);
    const bool done = bucket_sort(tops.data(), n, sorted.data());
    sorted.resize(n);
    if (done) return;
  }
  radix_sort(tops, sorted);
}

size_t count_distinct(const uint32_t* sorted, size_t n) {
  if (has_vectors()) return count_distinct_by_vectors(sorted, n);
  size_t distinct = n != 0 ? 1 : 0;
  for (size_t i = 1; i < n; ++i) distinct += sorted[i] != sorted[i - 1];
  return distinct;
}

size_t shift_distinct(uint32_t* values, size_t n, int shift) {
#if defined(__x86_64__)
  if (has_vectors()) return shift_distinct_avx2(values, n, shift);
#endif
  size_t kept = 0;
  for (size_t i = 0; i < n; ++i) {
    uint32_t value = values[i] >> shift;
    values[kept] = value;
    kept += i + 1 == n || values[i + 1] >> shift != value;
  }
  return kept;
}

}  // namespace doppel
