#include "insight/valley.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace doppel {
namespace {

constexpr int kFrom = 50;
constexpr int kTo = 95;
constexpr int kNarrowest = 3;  // narrower ones are noise

}  // namespace

Valley find_valley(std::span<const uint64_t> pairs) {
  std::array<double, kTo> smooth{};
  double sum = 0;
  double least = INFINITY;
  for (int i = kFrom; i < kTo; ++i) {
    smooth[i] = static_cast<double>(pairs[i - 1] + pairs[i] + pairs[i + 1]) / 3;
    sum += smooth[i];
    least = std::min(least, smooth[i]);
  }
  const double mean = sum / (kTo - kFrom);
  const double rare = std::max(least, mean / 5);
  int best_from = kFrom;
  int best_to = kFrom;
  for (int i = kFrom; i < kTo;) {
    int end = i;
    while (end < kTo && smooth[end] <= rare) ++end;
    if (end - i > best_to - best_from) {
      best_from = i;
      best_to = end;
    }
    i = end + 1;
  }
  Valley valley{.from = best_from / 100.0, .to = best_to / 100.0};
  valley.clear = best_to - best_from >= kNarrowest && rare <= mean / 3;
  const int middle = (best_from + best_to) / 2;
  valley.threshold = middle / 100.0;
  for (int i = best_from; i < best_to; ++i) valley.pairs_in_it += pairs[i];
  return valley;
}

}  // namespace doppel
