#pragma once
// From the YAML file, the environment (DOPPEL_...) and --set key=value to Options, in this order, the later
// ones win. Unknown keys, wrong types and impossible values are refused with file, line, key and what would
// be right.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "config/options.h"

namespace doppel {

// What is known of one key; the table of all is the only place that lists them.
struct KeyInfo {
  std::string name;  // "state.fsync"
  std::string type;  // "number, 0 to 1", "integer, ...", "size, ...", "text", "list of text", "one of ...",
                     // "duration ..."
  std::string default_value;  // as it would be written
  std::string help;           // one sentence or two
  bool secret = false;
};
const std::vector<KeyInfo>& config_keys();

struct ConfigInputs {
  std::string file;                                       // may be empty
  std::vector<std::pair<std::string, std::string>> sets;  // --set and command-line flags, in order
  std::vector<std::string> environment;                   // "DOPPEL_STATE_FSYNC=commit" ...: '.' becomes '_'
};

struct Setting {
  std::string key, value,
      origin;  // origin: "default", "doppel.yaml:12", "environment DOPPEL_X", "command line"
};

struct Config {
  Options options;
  std::vector<Setting> settings;  // every key, effective value, where it came from; secrets hidden
};

// All errors at once, one per line.
absl::StatusOr<Config> load_config(const ConfigInputs& inputs);

// environ's DOPPEL_ variables that are configuration (not DOPPEL_SIMD, DOPPEL_HASH_KEY, DOPPEL_CONFIG,
// DOPPEL_KILL_AT).
std::vector<std::string> config_environment();

}  // namespace doppel
