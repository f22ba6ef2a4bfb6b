// How far the estimate of two sketches is from the truth, beside classic MinHash with as many slots: root
// mean squared errors over random pairs of sets with a known similarity, by size and by similarity.
//
//   estimate_bench [--pairs=4000] [--num_perm=128]
//
// Two sets of `shingles` members each share as many as it takes. Prints a line for each cell,
//   cell shingles similarity rmse_fast rmse_classic ratio theory
// where theory is sqrt(1 - (k - 1) / (N - 1)) for N members of the union: what drawing k of them without
// replacement gives relative to drawing with it; then "name value unit" lines: means over the similarities.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>
#include <vector>

#include "sketch/sketch.h"

namespace doppel {
namespace {

constexpr HashKey kKey{1, 2};
constexpr size_t kSizes[] = {20, 60, 150, 300, 579, 1500};
constexpr double kSimilarities[] = {0.5, 0.6, 0.7, 0.8, 0.9};

double rmse(const Sketcher& sketcher, size_t size, size_t common, uint64_t pairs, uint64_t seed) {
  const size_t all = 2 * size - common;
  const double truth = static_cast<double>(common) / static_cast<double>(all);
  std::vector<uint64_t> members(all), a(sketcher.num_perm()), b(sketcher.num_perm());
  double sum = 0;
  uint64_t state = seed;
  for (uint64_t pair = 0; pair < pairs; ++pair) {
    for (uint64_t& m : members) m = mix64(state += 0x9e3779b97f4a7c15u);
    const std::span<const uint64_t> span(members);
    sketcher.clear(a.data());
    sketcher.update(a.data(), span.first(size));
    sketcher.clear(b.data());
    sketcher.update(b.data(), span.last(size));
    const double error = estimate_jaccard(a.data(), b.data(), sketcher.num_perm()) - truth;
    sum += error * error;
  }
  return std::sqrt(sum / static_cast<double>(pairs));
}

void run(uint64_t pairs, int num_perm) {
  const Sketcher fast(SketchFamily::fast, num_perm, kKey);
  const Sketcher classic(SketchFamily::classic, num_perm, kKey);
  double sum_short = 0, sum_all = 0;
  int count_short = 0, count_all = 0;
  for (size_t size : kSizes) {
    double sum = 0;
    for (double wanted : kSimilarities) {
      const auto common =
          static_cast<size_t>(std::lround(2.0 * static_cast<double>(size) * wanted / (1 + wanted)));
      const auto all = static_cast<double>(2 * size - common);
      const uint64_t seed = size * 1000 + common;
      const double ours = rmse(fast, size, common, pairs, seed);
      const double theirs = rmse(classic, size, common, pairs, seed + 500);
      const double theory = std::sqrt(std::max(0.0, 1 - (num_perm - 1) / (all - 1)));
      std::printf("cell %zu %.4f %.5f %.5f %.3f %.3f\n", size, static_cast<double>(common) / all, ours,
                  theirs, ours / theirs, theory);
      (void)std::fflush(stdout);
      sum += ours / theirs;
    }
    const double mean = sum / static_cast<double>(std::size(kSimilarities));
    std::printf("shingles_%zu %.4f x\n", size, mean);
    sum_all += mean;
    ++count_all;
    if (size <= 300) sum_short += mean, ++count_short;
  }
  std::printf("pairs %llu pairs/cell\n", static_cast<unsigned long long>(pairs));
  std::printf("mean_to_300 %.4f x\n", sum_short / count_short);
  std::printf("mean_all %.4f x\n", sum_all / count_all);
}

}  // namespace
}  // namespace doppel

int main(int argc, char** argv) {
  uint64_t pairs = 4000;
  int num_perm = 128;
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    if (arg.starts_with("--pairs=")) pairs = std::strtoull(argv[i] + 8, nullptr, 10);
    if (arg.starts_with("--num_perm=")) num_perm = std::atoi(argv[i] + 11);
  }
  doppel::run(std::max<uint64_t>(1, pairs), std::clamp(num_perm, 8, 1024));
}
