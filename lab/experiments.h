#pragma once
// The experiments of `doppel lab`.

#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "lab/options.h"
#include "lab/report.h"

namespace doppel::lab {

struct Experiment {
  std::string_view name;
  std::string_view summary;  // one line
  std::string_view about;    // for --help: what is done on which data, and which study it repeats
  absl::StatusOr<Report> (*run)(const LabOptions& options);
};

// In the order in which `lab all` runs them.
std::span<const Experiment> experiments();

absl::StatusOr<Report> accuracy_experiment(const LabOptions& options);
absl::StatusOr<Report> time_experiment(const LabOptions& options);
absl::StatusOr<Report> near_duplicates_experiment(const LabOptions& options);
absl::StatusOr<Report> shingles_experiment(const LabOptions& options);
absl::StatusOr<Report> finder_experiment(const LabOptions& options);
absl::StatusOr<Report> theory_experiment(const LabOptions& options);
absl::StatusOr<Report> mapreduce_experiment(const LabOptions& options);
absl::StatusOr<Report> slips_experiment(const LabOptions& options);
absl::StatusOr<Report> compare_experiment(const LabOptions& options);

// For the captions: "15 runs, scale 0.2 (201 documents), seed 1."
std::string conditions(const LabOptions& options, int runs, double scale, size_t documents);

}  // namespace doppel::lab
