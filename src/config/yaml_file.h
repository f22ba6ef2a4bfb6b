#pragma once
// Reads the YAML file as a flat list of settings, each with its line. The only user of yaml-cpp.

#include <functional>
#include <string>
#include <vector>

#include "config/keys.h"

namespace doppel {

// `origin` is such as "doppel.yaml:12".
using SetValue = std::function<void(const Key& key, const RawValue& value, const std::string& origin)>;

// Calls `set` for every setting, in the order of the file. Appends a line to `errors` for each mistake, such
// as "doppel.yaml:12: state.fsnyc: no such key (...)".
void parse_yaml(const std::string& text, const std::string& file, const SetValue& set,
                std::vector<std::string>& errors);

// Reads the file and parses it.
void read_yaml_file(const std::string& file, const SetValue& set, std::vector<std::string>& errors);

}  // namespace doppel
