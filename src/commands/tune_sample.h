#pragma once
// Reads the first documents of the user's own input and has them measured.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "commands/tune_report.h"
#include "files/places.h"
#include "formats/decoder.h"

namespace doppel {

struct TuneSampleOptions {
  std::vector<std::string> paths;
  uint64_t documents = 20'000;
  FormatOptions format;
  std::vector<NamedPath> outputs;  // what is written, and never read where a directory holds it
};
absl::StatusOr<TuneSample> measure_sample(const TuneSampleOptions& options, const EngineOptions& engine);

// How pages in these files are read: visible or main; empty where there are no pages, or they cannot be read
// twice.
absl::StatusOr<std::string> extract_of_pages(const TuneSampleOptions& options);

}  // namespace doppel
