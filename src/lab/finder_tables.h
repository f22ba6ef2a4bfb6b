#pragma once
// What the steps of DuplicateFinder are measured on, and the tables of what they take and find.

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
  std::vector<Pair> truth;  // as given; of made ones the planted pairs
  bool given = false;
};
// The given articles and made ones, or those that the options name.
absl::StatusOr<std::vector<Dataset>> datasets(const LabOptions& options);

// Similarities of all pairs, in thousandths: what theory needs, and the truth at every threshold.
struct BruteForce {
  std::vector<Pair> pairs;  // those above .25, ascending
  std::vector<double> similarity;
  std::map<int, double> histogram;  // thousandth -> pairs, of all

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

// MinHash and LSH beside theory, over several runs; bands and buckets of LSH.
Table theory_table(const LabOptions& options, const Dataset& data, const BruteForce& brute,
                   const IntegerSets& ids);
Table grid_table(const LabOptions& options, const Dataset& data, const BruteForce& brute,
                 const IntegerSets& ids, const std::string& caption);

}  // namespace doppel::lab
