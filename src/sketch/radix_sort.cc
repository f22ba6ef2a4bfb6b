// Few values by insertion; else three passes of 11 bits, lowest first.

#include "sketch/radix_sort.h"

#include <array>
#include <utility>

namespace doppel {
namespace {

constexpr size_t kFew = 32;

void insertion_sort(uint32_t* values, size_t n) {
  for (size_t i = 1; i < n; ++i) {
    uint32_t value = values[i];
    size_t j = i;
    for (; j != 0 && values[j - 1] > value; --j) values[j] = values[j - 1];
    values[j] = value;
  }
}

void radix_sort(PodVector<uint32_t>& values) {
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
  PodVector<uint32_t> other(values.size());
  for (int pass = 0; pass < 3; ++pass) {
    for (uint32_t v : values) other[starts[pass][v >> (pass * kDigit) & kMask]++] = v;
    values.swap(other);
  }
}

}  // namespace

void sort_tops(PodVector<uint32_t>& tops) {
  if (tops.size() <= kFew) {
    insertion_sort(tops.data(), tops.size());
  } else {
    radix_sort(tops);
  }
}

}  // namespace doppel
