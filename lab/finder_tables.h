#pragma once
// The data on which the steps of DuplicateFinder are measured, and the tables of their times and results.

#include <array>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lab/duplicate_finder.h"
#include "lab/options.h"
#include "lab/report.h"

namespace doppel::lab {

inline constexpr std::array kThresholds{.3, .5, .9};
inline constexpr std::array kFunctions{10, 50, 100, 200};
inline constexpr int kLshFunctions = 100;
inline constexpr int kLshBands = 20;
inline constexpr uint64_t kLshBuckets = 100'003;

struct Dataset {
  std::string name;
  Articles articles;
  std::vector<Pair> truth;  // as given; for generated articles, the planted pairs
  bool given = false;
};
// The articles of the options, or else those in tests/data and generated ones.
absl::StatusOr<std::vector<Dataset>> datasets(const LabOptions& options);

// The similarities of all pairs: the truth at each threshold, and what the theory needs.
struct BruteForce {
  std::vector<Pair> pairs;  // pairs above .25, ascending
  std::vector<double> similarity;
  std::map<int, double> histogram;  // similarity in thousandths -> number of pairs, for all others

  std::vector<Pair> truth(double threshold) const;
};
BruteForce brute_force(const IntegerSets& sets);

struct Quality {
  double precision = 1, recall = 1;
};
Quality compare(const std::vector<Pair>& found, const std::vector<Pair>& truth);

struct Timed {
  std::string step;
  double seconds = 0;
  std::map<double, Quality> quality;  // by threshold
};
std::vector<Timed> all_steps(const LabOptions& options, const Dataset& data, const BruteForce& brute,
                             const IntegerSets& ids, const IntegerSets& codes);
Table step_table(const Dataset& data, const std::vector<Timed>& steps, const std::string& caption);

// Compares MinHash and LSH with theory, over several runs; compares bands and buckets of LSH.
Table theory_table(const LabOptions& options, const Dataset& data, const BruteForce& brute,
                   const IntegerSets& ids);
Table grid_table(const LabOptions& options, const Dataset& data, const BruteForce& brute,
                 const IntegerSets& ids, const std::string& caption);

}  // namespace doppel::lab
