#pragma once
// The settings that an index was made with, in the form of doppel.yaml, so that its user need not repeat
// them.

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "config/config.h"

namespace doppel {

// Key and value of each setting that the state directory records; empty if there is no index yet.
std::vector<std::pair<std::string, std::string>> settings_of_index(const std::string& directory);

// Loads the configuration of `inputs`. Takes settings that it leaves out from the index in the state
// directory. FailedPrecondition: a setting differs from the index; the message names each, with both values.
absl::StatusOr<Config> load_config_of_index(const ConfigInputs& inputs);

}  // namespace doppel
