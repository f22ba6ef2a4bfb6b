#pragma once
// The settings that an index was made with, as doppel.yaml has them: who opens it need not repeat them.

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "config/config.h"

namespace doppel {

// Key and value of those that its state directory names. Empty: there is no index yet.
std::vector<std::pair<std::string, std::string>> settings_of_index(const std::string& directory);

// The configuration of `inputs`, with the settings of the index in its state directory where they say
// nothing. FailedPrecondition: what they say is something else; names each, with both values.
absl::StatusOr<Config> load_config_of_index(const ConfigInputs& inputs);

}  // namespace doppel
