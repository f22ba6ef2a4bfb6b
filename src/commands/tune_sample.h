#pragma once
// Reads the first documents of the user's own input and has them measured.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "commands/tune_report.h"
#include "formats/decoder.h"

namespace doppel {

struct TuneSampleOptions {
  std::vector<std::string> paths;
  uint64_t documents = 20'000;
  FormatOptions format;
};
absl::StatusOr<TuneSample> measure_sample(const TuneSampleOptions& options, const EngineOptions& engine);

}  // namespace doppel
