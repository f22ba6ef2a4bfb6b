#pragma once
// The YAML file as a flat list of settings, each with its line. The only user of yaml-cpp.

#include <functional>
#include <string>
#include <vector>

#include "config/keys.h"

namespace doppel {

// origin: "doppel.yaml:12".
using SetValue = std::function<void(const Key& key, const RawValue& value, const std::string& origin)>;

// Calls `set` for every setting, in the order of the file. Appends what is wrong to `errors`, one line each:
// "doppel.yaml:12: state.fsnyc: no such key (...)".
void parse_yaml(const std::string& text, const std::string& file, const SetValue& set,
                std::vector<std::string>& errors);

// The same from the file.
void read_yaml_file(const std::string& file, const SetValue& set, std::vector<std::string>& errors);

}  // namespace doppel
