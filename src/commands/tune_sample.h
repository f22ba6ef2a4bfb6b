#pragma once
// Reads the first documents of the user's input and measures them.

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
  std::vector<NamedPath> outputs;  // outputs, which are not read if they are in an input directory
};
absl::StatusOr<TuneSample> measure_sample(const TuneSampleOptions& options, const EngineOptions& engine);

// The extraction of HTML pages in these files: "visible" or "main". Empty if there are no pages or the input
// cannot be read twice.
absl::StatusOr<std::string> extract_of_pages(const TuneSampleOptions& options);

}  // namespace doppel
