// The quality of the estimates: unbiased, with the error measured against classic MinHash and against the
// exact set.

#include <cmath>
#include <cstdio>

#include "sketch/compact_set.h"
#include "sketch_support.h"

namespace doppel {
namespace {

constexpr int kPerm = 128;
constexpr HashKey kKey{11, 12};

struct Errors {
  double mean = 0;
  double deviation = 0;  // of one estimate
};

Errors measure(SketchFamily family, size_t n, size_t common, int pairs) {
  Sketcher sketcher(family, kPerm, kKey);
  std::mt19937_64 random(n * 1000 + common);
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < pairs; ++i) {
    const Pair pair = random_pair(random, n, common);
    uint64_t a[kPerm];
    uint64_t b[kPerm];
    sketcher.clear(a);
    sketcher.clear(b);
    sketcher.update(a, pair.a);
    sketcher.update(b, pair.b);
    const double error = estimate_jaccard(a, b, kPerm) - pair.jaccard;
    sum += error;
    squares += error * error;
  }
  return {sum / pairs, std::sqrt(squares / pairs)};
}

// How many of n values two sets of n must share for about this Jaccard similarity; not all of them.
size_t common_of(size_t n, double jaccard) {
  return std::min(n - 1,
                  static_cast<size_t>(std::lround(2 * static_cast<double>(n) * jaccard / (1 + jaccard))));
}

TEST(Merits, FastIsUnbiasedAndNeverWorseThanClassic) {
  constexpr int kPairs = 10'000;
  for (size_t n : {20, 60, 579}) {
    for (double jaccard : {.1, .3, .5, .8, .95}) {
      const size_t common = common_of(n, jaccard);
      const double exact = static_cast<double>(common) / static_cast<double>(2 * n - common);
      const Errors fast = measure(SketchFamily::fast, n, common, kPairs);
      // The error of k independent hash functions; the classic family itself is compared with it below.
      const double classic = std::sqrt(exact * (1 - exact) / kPerm);
      std::printf("n=%zu J=%.3f bias %+.5f RMSE %.4f, of classic %.2f\n", n, exact, fast.mean, fast.deviation,
                  fast.deviation / classic);
      EXPECT_LE(std::abs(fast.mean), 4 * fast.deviation / std::sqrt(kPairs)) << "n=" << n << " J=" << exact;
      // Slots are drawn without replacement: the variance falls by (k - 1) / (union - 1), but not far below
      // k.
      const double drawn = 1 - (kPerm - 1) / (static_cast<double>(2 * n - common) - 1);
      EXPECT_LE(fast.deviation / classic, std::max(.8, std::sqrt(std::max(0., drawn)) + .03))
          << n << " " << exact;
    }
  }
}

TEST(Merits, ClassicHasTheErrorOfIndependentHashes) {
  constexpr int kPairs = 2000;
  for (size_t n : {12, 100}) {
    const size_t common = common_of(n, .8);
    const double exact = static_cast<double>(common) / static_cast<double>(2 * n - common);
    const Errors classic = measure(SketchFamily::classic, n, common, kPairs);
    EXPECT_LE(std::abs(classic.mean), 4 * classic.deviation / std::sqrt(kPairs));
    EXPECT_NEAR(classic.deviation, std::sqrt(exact * (1 - exact) / kPerm), .1 * classic.deviation);
  }
}

double compact_error(size_t na, size_t nb, double jaccard, int pairs) {
  std::mt19937_64 random(na * 7 + nb);
  double squares = 0;
  for (int i = 0; i < pairs; ++i) {
    auto a = random_hashes(random, na);
    auto b = random_hashes(random, nb);
    const size_t smaller = std::min(na, nb);
    const auto common = std::min(
        smaller, static_cast<size_t>(std::lround(static_cast<double>(na + nb) * jaccard / (1 + jaccard))));
    std::copy_n(a.begin(), common, b.begin());
    CompactSet sets[2];
    for (int side = 0; side < 2; ++side) {
      PodVector<uint32_t> tops;
      for (uint64_t h : side == 0 ? a : b) tops.push_back(static_cast<uint32_t>(h >> 32));
      make_compact_set(tops, sets[side]);
    }
    const Overlap got = overlap(sets[0], sets[1]);
    const double exact = static_cast<double>(common) / static_cast<double>(na + nb - common);
    const double error = static_cast<double>(got.inter) / static_cast<double>(got.uni) - exact;
    squares += error * error;
  }
  return std::sqrt(squares / pairs);
}

TEST(Merits, CompactSetsAreExactInEffect) {
  for (double size = 1; size <= 100'000; size *= 2.1) {
    const auto n = static_cast<size_t>(size);
    const int pairs = static_cast<int>(std::clamp(200'000 / size, 4., 200.));
    for (double jaccard : {0., .5, .8}) {
      EXPECT_LE(compact_error(n, n, jaccard, pairs), .002) << "n=" << n << " J=" << jaccard;
    }
    for (double ratio : {.5, .9, 1.1, 3.}) {
      const auto other = std::max<size_t>(1, static_cast<size_t>(size * ratio));
      EXPECT_LE(compact_error(n, other, .5, pairs), .002) << "n=" << n << " other=" << other;
      EXPECT_LE(compact_error(n, other, .8, pairs), .002) << "n=" << n << " other=" << other;
    }
  }
}

}  // namespace
}  // namespace doppel
