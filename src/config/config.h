#pragma once
// Loads Options from the YAML file, the environment (DOPPEL_...) and the command line (--set key=value).
// Later sources override earlier ones. Unknown keys, wrong types and invalid values are errors that name
// file, line, key and valid values.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "config/options.h"

namespace doppel {

// Describes one key. The table in keys.cc is the only place that lists all keys.
struct KeyInfo {
  std::string name;  // such as "state.fsync"
  std::string type;  // "number, 0 to 1", "integer, ...", "size, ...", "text", "list of text", "one of ...",
                     // "duration ..."
  std::string default_value;  // as written in the file
  std::string help;           // one or two sentences
  bool secret = false;
};
const std::vector<KeyInfo>& config_keys();

struct ConfigInputs {
  std::string file;                                       // may be empty
  std::vector<std::pair<std::string, std::string>> sets;  // --set and command-line flags, in order
  std::vector<std::string> environment;                   // such as "DOPPEL_STATE_FSYNC=commit"
};

struct Setting {
  std::string key, value,
      origin;  // origin: "default", "doppel.yaml:12", "environment DOPPEL_X", "command line"
};

struct Config {
  Options options;
  std::vector<Setting> settings;  // every key with its effective value and origin; secrets are hidden
};

// The error lists all mistakes, one per line.
absl::StatusOr<Config> load_config(const ConfigInputs& inputs);

// The DOPPEL_ variables of the environment that are settings, so without DOPPEL_SIMD, DOPPEL_HASH_KEY,
// DOPPEL_HTTP_TOKEN, DOPPEL_CONFIG and DOPPEL_KILL_AT.
std::vector<std::string> config_environment();

}  // namespace doppel
