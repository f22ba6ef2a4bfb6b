// Compares MinHash and LSH with theory.
#include <algorithm>
#include <cmath>

#include "fmt/format.h"
#include "lab/experiments.h"
#include "lab/finder_tables.h"
#include "lab/parallel.h"

namespace doppel::lab {
namespace {

// The expected numbers of true and false pairs that are reported, and their variances if pairs were
// independent.
struct Expected {
  double right = 0, wrong = 0, right_variance = 0, wrong_variance = 0;
};
template <typename Chance>
Expected expect(const BruteForce& all, double threshold, const Chance& chance) {
  Expected out;
  auto take = [&](double similarity, double pairs) {
    const double p = chance(similarity);
    const bool is_true = similarity > threshold;
    (is_true ? out.right : out.wrong) += pairs * p;
    (is_true ? out.right_variance : out.wrong_variance) += pairs * p * (1 - p);
  };
  for (double similarity : all.similarity) take(similarity, 1);
  for (auto [thousandth, pairs] : all.histogram) take(thousandth / 1000.0, pairs);
  return out;
}

// One way to decide, and what it found in each run.
struct Method {
  std::string name;
  int k;
  bool lsh, verify;
  double threshold;
  Expected expected;
  std::vector<double> right, wrong;  // by run
};

std::vector<Method> all_methods(const BruteForce& brute, int runs) {
  std::vector<Method> out;
  auto add = [&](const std::string& name, int k, bool lsh, bool verify) {
    for (double t : kThresholds) {
      auto chance = [&](double j) {
        if (!lsh) return chance_minhash(j, k, t);
        // Exact verification decides all pairs correctly that share a bucket.
        if (verify) return j > t ? chance_lsh(j, k, kLshBands, kLshBuckets, -1) : 0.0;
        return chance_lsh(j, k, kLshBands, kLshBuckets, t);
      };
      const auto n = static_cast<size_t>(runs);
      out.push_back({name, k, lsh, verify, t, expect(brute, t, chance), std::vector<double>(n),
                     std::vector<double>(n)});
    }
  };
  for (int k : kFunctions) add(fmt::format("MinHash, k = {}", k), k, false, false);
  add(fmt::format("LSH, k = {}, b = {}, y/k", kLshFunctions, kLshBands), kLshFunctions, true, false);
  add(fmt::format("LSH, k = {}, b = {}, exact", kLshFunctions, kLshBands), kLshFunctions, true, true);
  return out;
}

// The mean over runs and its standard error: from the variance of independent pairs or from the runs,
// whichever is larger. Pairs are not independent: a function whose lowest element is a common word makes
// many of them equal at once.
struct Mean {
  double mean = 0, error = 0;
};
Mean mean_of(const std::vector<double>& values, double variance) {
  Mean out;
  const auto n = static_cast<double>(values.size());
  for (double v : values) out.mean += v / n;
  double spread = 0;
  for (double v : values) spread += std::pow(v - out.mean, 2) / std::max(1.0, n - 1);
  out.error = std::sqrt(std::max(spread, variance) / n);
  return out;
}

}  // namespace

Table theory_table(const LabOptions& options, const Dataset& data, const BruteForce& brute,
                   const IntegerSets& ids) {
  // 10,000 documents have 50 million pairs, for each of the methods.
  const int runs = options.runs_or(6, 20, data.articles.size() > 5000 ? 3 : 20);
  std::vector<Method> methods = all_methods(brute, runs);
  std::map<double, std::vector<Pair>> truths;
  for (double t : kThresholds) truths[t] = brute.truth(t);
  parallel_for(options.threads, static_cast<size_t>(runs), [&](size_t run) {
    options.progress(fmt::format("finder: {}, theory, run {} of {}", data.name, run + 1, runs));
    Random random(options.seed, 1000 + run);
    const MinHashFinder minhash(ids, draw_hashes(kFunctions.back(), ids, Encoding::own_ids, random));
    for (Method& method : methods) {
      const MinHashFinder of_k = minhash.first(method.k);
      const std::vector<Pair>& truth = truths[method.threshold];
      std::vector<Pair> found;
      if (method.lsh) {
        found =
            LshFinder(of_k.signatures(),
                      {.bands = kLshBands, .buckets = kLshBuckets, .verify = method.verify ? &ids : nullptr})
                .findDuplicates(method.threshold);
      } else {
        found = of_k.findDuplicates(method.threshold);
      }
      const double right = compare(found, truth).recall * static_cast<double>(truth.size());
      method.right[run] = right;
      method.wrong[run] = static_cast<double>(found.size()) - right;
    }
  });
  Table table{.name = "finder_theory_" + data.name,
              .title = data.name + ": precision and recall compared with theory",
              .caption = conditions(options, runs, options.scale_or(.2, .6, 1), data.articles.size()) +
                         " Theory: a pair of similarity J is reported if a binomial (k, J) is above the "
                         "threshold, by LSH if a bucket is shared "
                         "besides. Off: the distance in standard errors, of true pairs and of false ones. "
                         "Precision: of all runs together.",
              .columns = {"step", "threshold", "recall", "theory", "off", "precision", "theory",
                          "false pairs", "theory", "off"},
              .rows = {}};
  for (const Method& m : methods) {
    const auto truth = static_cast<double>(truths[m.threshold].size());
    const Mean right = mean_of(m.right, m.expected.right_variance);
    const Mean wrong = mean_of(m.wrong, m.expected.wrong_variance);
    auto off = [](const Mean& is, double expected) {
      return is.error > 1e-9 ? (is.mean - expected) / is.error : 0;
    };
    auto share = [](double a, double b) { return a + b > 0 ? a / (a + b) : 1; };
    table.row({text(m.name), num(m.threshold, 1), num(truth > 0 ? right.mean / truth : 1, 4),
               num(truth > 0 ? m.expected.right / truth : 1, 4), num(off(right, m.expected.right), 2),
               num(share(right.mean, wrong.mean), 4), num(share(m.expected.right, m.expected.wrong), 4),
               num(wrong.mean, 2), num(m.expected.wrong, 2), num(off(wrong, m.expected.wrong), 2)});
  }
  return table;
}

Table grid_table(const LabOptions& options, const Dataset& data, const BruteForce& brute,
                 const IntegerSets& ids, const std::string& caption) {
  Table table{
      .name = "finder_grid_" + data.name,
      .title = data.name + ": bands and buckets of LSH, k = 100, threshold .5",
      .caption =
          caption + " Seconds without the signatures. Candidates: pairs that share a bucket in any band.",
      .columns = {"bands", "rows", "buckets", "seconds", "candidates", "% of all pairs", "recall, y/k",
                  "recall, exact verification"},
      .rows = {}};
  Random random(options.seed, kLshFunctions);
  const MinHashFinder minhash(ids, draw_hashes(kLshFunctions, ids, Encoding::own_ids, random));
  const std::vector<Pair> truth = brute.truth(.5);
  const auto n = static_cast<double>(ids.sets.size());
  for (int bands : {5, 10, 20, 25, 50}) {
    for (uint64_t buckets : {1'009, 10'007, 100'003, 1'000'003}) {
      const Stopwatch watch;
      const LshFinder fast(minhash.signatures(), {.bands = bands, .buckets = buckets});
      const Quality estimate = compare(fast.findDuplicates(.5), truth);
      const double seconds = watch.seconds();
      const LshFinder exact(minhash.signatures(), {.bands = bands, .buckets = buckets, .verify = &ids});
      const int rows = kLshFunctions / bands;
      table.row({num(bands, 0), num(rows, 0), count(buckets), num(seconds, 4),
                 count(fast.candidates().size()),
                 num(static_cast<double>(fast.candidates().size()) / (n * (n - 1) / 2) * 100, 3),
                 num(estimate.recall, 4), num(compare(exact.findDuplicates(.5), truth).recall, 4)});
    }
  }
  return table;
}

}  // namespace doppel::lab
