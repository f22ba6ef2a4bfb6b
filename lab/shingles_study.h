#pragma once
// The study of character k-shingles, part by part. Each part adds plots and tables to the report, numbered
// as the study's figures 6 to 32, and keeps its findings for the last table.

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "lab/collection.h"
#include "lab/k_shingles.h"
#include "lab/options.h"
#include "lab/report.h"

namespace doppel::lab::shingles {

inline constexpr int kLongest = 15;
inline constexpr int kPairs = 5;
inline constexpr int kMost = 500;  // largest number of functions
inline constexpr std::array kThresholds{0.0, .2, .42, .64, .8, 1.0};
inline constexpr std::array kFamilies{HashFamily::modular, HashFamily::jenkins};

const char* name_of(HashFamily family);
Plot figure(int number, const std::string& title, const std::string& caption, const std::string& x,
            const std::string& y);

// The measurements of one pair of documents for one k.
struct Cell2 {
  double exact = 0, exact_seconds = 0, exact_no_spaces = 0;
  std::array<std::vector<double>, 2> estimates;  // by family, by number of functions
};

struct Findings {
  double at_1 = 0, at_7 = 0, at_15 = 0, spaces = 0, no_spaces = 0;
  std::array<double, 2> error{}, seconds{};
  double error_100 = 0, error_200 = 0, error_500 = 0;
  size_t from = 0;  // number of documents from which LSH is faster; 0: never
  double copies_4 = 0, copies_5 = 0, copies_8 = 0, word_length = 0;
};

class Study {
 public:
  Study(const LabOptions& options, Report& report)
      : options_(options), report_(report), prose_(options.seed) {
    for (int n = 0; n <= kMost; n += options.by_size(100, 25, 25)) functions_.push_back(std::max(1, n));
    runs_ = options.runs_or(1, 3, 10);
  }

  absl::Status run();

 private:
  std::string caption(const std::string& more = "") const;
  void make_pairs();
  void similarities();
  template <typename Value>
  Series mean_series(const std::string& name, const Value& value) const {
    Series series{.name = name, .points = {}};
    for (size_t k = 1; k <= kLongest; ++k) {
      double sum = 0;
      for (size_t pair = 0; pair < kPairs; ++pair) sum += value(cells_[k][pair]) / kPairs;
      series.points.emplace_back(k, sum);
    }
    return series;
  }

  // Computes the mean absolute error over pairs, runs, and k from 2 to 15. At k = 1 both sets are equal,
  // and all estimates are exact.
  void estimates();
  void times_of_functions();
  // The mean absolute deviation of a binomial share is about sqrt(2/pi) times its standard deviation.
  double expected_error(int n) const;
  // Documents in families of four: an original, and versions in which 2, 10 and 35 per cent of the words
  // are replaced.
  std::vector<std::string> make_documents(size_t count, size_t words) const;
  absl::Status many_documents();
  void faster_from();
  void findings();
  const LabOptions& options_;
  Report& report_;
  Prose prose_;
  int runs_ = 1;
  std::vector<int> functions_;
  std::array<std::array<std::string, 2>, kPairs> texts_;
  std::array<std::array<Cell2, kPairs>, kLongest + 1> cells_;  // by k
  std::array<std::vector<double>, 2> errors_;                  // by family, by number of functions
  Findings found_;
};

}  // namespace doppel::lab::shingles
