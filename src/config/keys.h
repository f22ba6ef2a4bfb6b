#pragma once
// The table of all settings: the only place that lists them. Help texts, `doppel config`, the check that
// config/doppel.yaml is complete and every message about a single key come from it.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"

namespace doppel {

// A value as it was written, before anyone knows its type.
struct RawValue {
  bool list = false;               // written as a list
  std::vector<std::string> items;  // the one text, or the list's
};

struct Key {
  KeyInfo info;
  // Names of any kind with values. What is set later is added, and replaces what has the same name. A name
  // may also be set as a key of its own, kafka.properties.NAME: then its value is taken as it is.
  bool named_values = false;
  // Puts the value into the options. Returns what is wrong with it, "1.4 is not between 0 and 1", or nothing.
  std::function<std::string(Options&, const RawValue&)> set;
  std::function<std::string(const Options&)> get;  // as it would be written in the file
};

const std::vector<Key>& all_keys();
const Key* find_key(std::string_view name);
// The key with named_values that this is a name of: kafka.properties.NAME. `rest` becomes NAME.
const Key* find_named(std::string_view name, std::string& rest);
// The same of a variable: DOPPEL_KAFKA_PROPERTIES_SASL_PASSWORD is sasl.password.
const Key* find_named_variable(std::string_view variable, std::string& rest);

std::vector<std::string> key_names();
std::vector<std::string> group_names();              // "state", "input"
std::string environment_name(std::string_view key);  // state.fsync -> DOPPEL_STATE_FSYNC

}  // namespace doppel
